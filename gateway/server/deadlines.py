"""What happens to a connection whose deadline has passed."""

import asyncio
from typing import Protocol

from uvicorn.protocols.http.flow_control import FlowControl

from gateway.errors import GatewayError
from gateway.server.intake import BETWEEN, IN_HEAD, Intake
from gateway.server.limits import Edge
from gateway.server.refusals import body_too_slow, head_too_slow


class Late(Protocol):
    """A connection with a deadline for what comes, and one for an answer that is to be taken."""

    deadline: float
    unread_deadline: float
    edge: Edge
    flow: FlowControl
    intake: Intake
    is_ending: bool
    transport: asyncio.Transport

    def refuse(self, error: GatewayError) -> None:
        """Answer this as the last, and read no more."""

    def close_idle(self) -> None:
        """Close it, as nothing is under way."""


def expire(late: Late) -> None:
    """One of its deadlines is over, or both are."""
    edge, phase = late.edge, late.intake.phase
    if late.unread_deadline <= edge.sweeper.now:
        late.unread_deadline = edge.unread.look(late.transport)
    elif late.flow.write_paused or (late.flow.read_paused and not late.is_ending):
        # The other deadline is for those who do not read; or it is we who do not.
        late.deadline = edge.sweeper.after(edge.settings.answer_timeout_seconds)
    elif late.is_ending:
        late.transport.abort()
    elif phase == IN_HEAD:
        late.refuse(head_too_slow())
    elif phase != BETWEEN:
        late.refuse(body_too_slow())
    else:
        late.close_idle()
