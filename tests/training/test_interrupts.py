import os
import signal
import threading

import pytest

from fansrec.training.interrupts import stop_signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_requests_a_stop_and_a_second_one_stops_at_once(number: signal.Signals) -> None:
    with stop_signals() as stopped:
        assert not stopped()
        os.kill(os.getpid(), number)
        assert stopped()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)


def test_signal_handlers_are_restored() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with stop_signals():
        assert signal.getsignal(signal.SIGINT) is not before[0]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_other_threads_do_not_handle_signals() -> None:
    seen: list[bool] = []

    def work() -> None:
        with stop_signals() as stopped:
            seen.append(stopped())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [False]
