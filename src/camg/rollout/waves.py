"""Lock-step: episodes in waves, so that the result does not depend on which thread is quicker (``--sync``)."""

from __future__ import annotations

import threading
from collections.abc import Callable

from camg.errors import BackendUnavailable, CamgError, InfrastructureFault, Interrupted, PluginError
from camg.protocols import Speaker
from camg.rollout.owner import Owner
from camg.rollout.pool import Pool
from camg.rollout.queue import Queue
from camg.rollout.rig import Rig
from camg.types import Dispatch, Episode


class Waves:
    """Runs a queue in waves of at most ``slots`` episodes in this process.

    The speakers of a wave are opened in dispatch order before any of its threads starts, and the next wave begins when
    the last episode of this one has ended: a lock-step sampler then sees the same requests in the same order each time.
    """

    def __init__(
        self,
        rig: Rig,
        slots: int,
        deadline: float,
        *,
        stop: threading.Event,
        label: str = "sync",
        on_episode: Callable[[Episode], None] = lambda episode: None,
        on_fault: Callable[[Dispatch, Exception, bool], None] = lambda dispatch, error, again: None,
    ) -> None:
        self._rig = rig
        self._slots = slots
        self._deadline = deadline
        self._owner = Owner.me(label)
        self._on_episode = on_episode
        self._on_fault = on_fault
        self._stop = stop

    def run(self, queue: Queue) -> bool:
        """Run one wave; False when nothing was there to run.

        Raises:
            Interrupted: ``stop`` was set; what had not ended was given back.
            BackendUnavailable, PluginError: nothing can run here.
        """
        self._check_stop(queue)
        wave = self._claim(queue)
        if not wave:
            return False
        results: dict[Dispatch, Episode | Exception] = {}
        speakers = {dispatch: self._open(dispatch) for dispatch in wave}

        def run(dispatch: Dispatch) -> Episode:
            return self._run(dispatch, speakers[dispatch], queue.evaluating)

        pool: Pool[Dispatch, Episode] = Pool(len(wave), run, results.__setitem__, deadline=self._deadline)
        try:
            for dispatch in wave:
                pool.submit(dispatch)
            while pool.busy:
                pool.wait(0.1)
                pool.evict()
                self._close_evicted(speakers, results)
                self._check_stop(queue)
        finally:
            pool.abandon()
            for speaker in speakers.values():
                if not isinstance(speaker, Exception):
                    speaker.close()
        for dispatch in wave:  # handed in by order of dispatch, so that the index too is the same each time
            self._hand_in(queue, dispatch, results[dispatch])
        return True

    def _claim(self, queue: Queue) -> list[Dispatch]:
        wave: list[Dispatch] = []
        while len(wave) < self._slots and (dispatch := queue.claim(self._owner)) is not None:
            wave.append(dispatch)
        return wave

    def _open(self, dispatch: Dispatch) -> Speaker | Exception:
        try:
            return self._rig.open_speaker(dispatch)
        except Exception as error:
            return error

    def _run(self, dispatch: Dispatch, speaker: Speaker | Exception, evaluating: bool) -> Episode:
        if isinstance(speaker, Exception):
            raise speaker
        try:
            return self._rig.run(dispatch, label=self._owner.label, speaker=speaker, evaluating=evaluating)
        finally:
            speaker.close()  # also when the episode never came to use it: the others must not wait for it

    @staticmethod
    def _close_evicted(
        speakers: dict[Dispatch, Speaker | Exception], results: dict[Dispatch, Episode | Exception]
    ) -> None:
        for dispatch, result in list(results.items()):
            speaker = speakers[dispatch]
            if isinstance(result, InfrastructureFault) and not isinstance(speaker, Exception):
                speaker.close()

    def _hand_in(self, queue: Queue, dispatch: Dispatch, result: Episode | Exception) -> None:
        if isinstance(result, BackendUnavailable | PluginError):
            queue.release(self._owner)
            raise result
        if isinstance(result, Exception):
            message = result.message if isinstance(result, CamgError) else f"{type(result).__name__}: {result}"
            again = queue.fault(self._owner, dispatch.id, message)
            self._on_fault(dispatch, result, again)
            return
        queue.complete(self._owner, result)
        self._on_episode(result)

    def _check_stop(self, queue: Queue) -> None:
        if self._stop.is_set():
            queue.release(self._owner)
            raise Interrupted("Interrupted; run again with --resume to go on.")
