"""How the commands of each document are run: what stands for placeholders, and what is not run here, with the reason.

Every command of the README, the tutorials and the guides is run unless a page says otherwise. A key of `skip` is the
beginning of commands as the page has them; one that no command begins with fails the test.
"""

from docs.running import Page

INSTALLS = "installs packages; tests/release/test_wheel.py does that in empty environments"
DOCKER = "needs Docker; tests/deploy reads the Dockerfile, the compose file and what they name"
KUBERNETES = "needs a cluster; tests/deploy/test_chart.py renders the chart and checks it"
BALANCER = "changes the machine; tests/deploy runs HAProxy with this configuration"
RAY = "needs a Ray cluster; tests/cluster run these commands"
MACHINES = "needs several machines, or GPUs"
LONG = "takes hours; tests/experiments/paper run the same code on small data"

PAGES = {
    "README.md": Page(
        raw=True,
        replace={'"a"': '"s0001"', '"b"': '"s0007"'},
        python={"/mine": "/again"},  # what the commands have written is not replaced
        skip={
            "make install": INSTALLS,
            "pip install": INSTALLS,
            "make demo": "the tutorial on the sample world runs the demo",
            ".venv/bin/fans demo --serve": "the tutorial runs the demo, and serves its models",
        },
    ),
    "docs/README.md": Page(
        raw=True,
        replace={'"a"': '"s0001"', '"b"': '"s0007"'},
        python={"/mine": "/again"},
        skip={
            "python3 -m venv": INSTALLS,
            "pip install": INSTALLS,
            "fans demo": "the tutorial on the sample world runs the demo",
        },
    ),
    "docs/tutorials/sample-world.md": Page(raw=True, skip={"make install": INSTALLS}),
    "docs/tutorials/your-own-lists.md": Page(raw=True, skip={"python3 -m venv": INSTALLS, "pip install": INSTALLS}),
    "docs/how-to/add-a-model.md": Page(
        replace={"ITEM ITEM …": "s0001 s0002"},
        skip={"pytest tests/models": "tests/models/test_add_a_model.py runs it"},
    ),
    "docs/how-to/compare-models.md": Page(replace={'10m"|60s"': '3s"', "--time 10m": "--time 3s"}),
    "docs/how-to/compare-models-on-traffic.md": Page(),
    "docs/how-to/evaluate.md": Page(),
    "docs/how-to/explain-and-control.md": Page(),
    "docs/how-to/export.md": Page(skip={"pip install": INSTALLS}),
    "docs/how-to/get-public-data.md": Page(before="printf '(lp0\\n(lp1\\nI1\\naI2\\naa.' > all_train_seq.txt"),
    "docs/how-to/measure-speed.md": Page(
        replace={
            "(fans bench (latency|throughput)|speed latency)": r"\1 --seconds 1 --repeats 1",
            "fans bench sweep": "fans bench sweep --seconds 1 --lists 2",
            "fans bench training": "fans bench training --batches 1",
        },
    ),
    "docs/how-to/operate-the-service.md": Page(
        before="cp -r runs/mine runs/2026-11-15; cp -r runs/fans runs/2026-11-16",
        skip={
            "pip install": INSTALLS,
            "docker": DOCKER,
            "mkdir -p deploy/models": DOCKER,
            "sudo install": DOCKER,
            "openssl": DOCKER,
            "chmod": DOCKER,
            "fans serve fans=/shared": RAY,
            "fans serve --engine ray": RAY,
            "fans serve runs/mine --engine ray": RAY,
        },
    ),
    "docs/how-to/prepare-data.md": Page(before="rm -r corpora"),
    "docs/how-to/reproduce-the-paper.md": Page(
        replace={"--folds 10": "--folds 3", "fans,slist,vstan,ease": "slist,vstan,ease"},
        skip={
            "fans reproduce table2": LONG,
            "PYTHONPATH=src python -m fansrec.experiments paper": LONG,
            "mkdir -p reproduction": "tests/experiments/paper/test_stored_cells.py reads this archive",
            "fans reproduce table3": "tests/experiments/paper/test_stored_cells.py makes this report",
            "fans reproduce all --datasets": LONG,
        },
    ),
    "docs/how-to/run-on-kubernetes.md": Page(skip={"docker": KUBERNETES, "kubectl": KUBERNETES, "helm": KUBERNETES}),
    "docs/how-to/run-several-services.md": Page(
        before="cp -r runs/mine runs/current; fans keys add fans.keys website",
        skip={
            "apt-get": BALANCER,
            "install -m": BALANCER,
            "haproxy": BALANCER,
            "systemctl": BALANCER,
            "curl http://127.0.0.1:8000": BALANCER,
            "curl http://127.0.0.1:8405": BALANCER,
            "echo": BALANCER,
            "for host": MACHINES,
            "  curl": MACHINES,
            "done": MACHINES,
        },
    ),
    "docs/how-to/scale-out-with-ray.md": Page(skip={"ray": RAY, "fans": RAY}),
    "docs/how-to/share-model-files.md": Page(replace={"THEIR-RUN": "runs/mine"}),
    "docs/how-to/train.md": Page(
        replace={
            r"\bCORPUS\b": "corpora/mine",
            r"\bRUN\b": "runs/processes",
            "http://127.0.0.1:5000": "tracking",
            "--out runs/mine --track": "--out runs/tracked --track",
            r"(PYTHONPATH=.*)runs/processes": r"\1runs/bare",
        },
        python={'"runs/mine"(.*track)': r'"runs/tracked-2"\1', '"runs/mine"': '"runs/logged"'},
        skip={
            "pip install": INSTALLS,
            "accelerate": MACHINES,
            "torchrun --nnodes": MACHINES,
        },
    ),
    "docs/how-to/update-a-model.md": Page(replace={r"\bs(\d)\b": r"s000\1", r"\bs(\d\d)\b": r"s00\1"}),
    "docs/how-to/update-live.md": Page(
        before="mv runs/mine runs/first; ln -s first runs/current; mkdir fans-copy",
        replace={"rsync -a writer:": "cp "},
    ),
}
