"""What a benchmark measures: systems with random weights on generated lists, or trained models on real ones."""

from collections.abc import Sequence
from dataclasses import dataclass

from fansrec.errors import BadSetting
from fansrec.experiments.speed.arms import Systems
from fansrec.experiments.speed.engines import Say
from fansrec.experiments.speed.measuring import Arm
from fansrec.experiments.speed.options import LatencyOptions
from fansrec.experiments.speed.trained import TrainedSystems
from fansrec.experiments.speed.workloads import Question, questions_of


@dataclass(frozen=True)
class Setup:
    """The systems of one benchmark and the lists that they continue."""

    workload: str  # or the name of the corpus
    items: int
    arms: Sequence[Arm]
    questions: Sequence[Question]

    def check_batches(self, batches: Sequence[int], say: Say = lambda line: None) -> list[int]:
        """Return the batch sizes that there are enough lists for, and report the others."""
        lists = len(self.questions)
        found = [batch for batch in batches if batch <= lists]
        if not found:
            raise BadSetting(f"--batch {min(batches)} is more than the {lists} test lists of the corpus; give fewer")
        for batch in batches:
            if batch > lists:
                say(f"the corpus has {lists} test lists; a batch of {batch} is left out")
        return found


def set_up(options: LatencyOptions, lists: int, say: Say) -> Setup:
    """Return what these options request; with trained models there are at most `lists` lists, else exactly `lists`."""
    if options.corpus is not None:
        trained = TrainedSystems(options.corpus, options.run, options.device, say)
        questions = trained.questions(lists)
        return Setup(trained.name, trained.items, trained.build(options.arms), questions)
    systems = Systems(options.workload, options.size, options.device, options.seed, say)
    questions = questions_of(options.workload, options.size, lists, options.seed)
    return Setup(options.workload, options.size, systems.build(options.arms, options.categories), questions)
