"""`python run_isolated.py MODEL.onnx QUESTIONS.npz ANSWERS.npz`: run a model without torch and fansrec."""

import sys


def main(model: str, questions: str, answers: str) -> None:
    sys.modules["torch"] = sys.modules["fansrec"] = None  # type: ignore[assignment]
    import numpy as np
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options)
    asked = np.load(questions)
    given = {}
    for number in range(int(asked["count"])):
        feed = {name: asked[f"{name}{number}"] for name in ("lists", "k", "keep_seen", "exclude")}
        given[f"items{number}"], given[f"scores{number}"] = session.run(["items", "scores"], feed)
    np.savez(answers, **given)


if __name__ == "__main__":
    main(*sys.argv[1:])
