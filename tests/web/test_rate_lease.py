"""What answers tell of a key's rate."""

import pytest
from starlette.types import Scope

from gateway.access.caller import Caller, Grants
from gateway.access.rates import KeyRates, Visit
from gateway.errors import TooManyInFlight
from gateway.settings.plans import PlanSettings
from gateway.web.rate_lease import begin_visit, end_visit, rate_lines
from tests.clock import ManualClock
from tests.web.requests import make_scope


def visit_of(plan: PlanSettings) -> Visit:
    """The first visit of a key on this plan."""
    caller = Caller(
        key_id="k1", name="n", plan_name="p", plan=plan, grants=Grants(spreadsheets=None)
    )
    return KeyRates({"p": plan}, ManualClock()).visit(caller)


@pytest.fixture
def scope() -> Scope:
    """The scope of a request."""
    return make_scope()


def test_an_answer_tells_what_is_left(scope: Scope) -> None:
    """As structured fields, with the policy behind it."""
    visit = visit_of(PlanSettings(requests_per_minute=600))
    begin_visit(scope, visit)
    visit.charge(10)

    assert dict(rate_lines(scope)) == {
        b"ratelimit": b'"default";r=50;t=1',
        b"ratelimit-policy": b'"default";q=600;w=60',
    }


def test_without_a_key_or_a_rate_there_is_nothing_to_tell(scope: Scope) -> None:
    """No line is better than an empty one."""
    before = rate_lines(scope)
    begin_visit(scope, visit_of(PlanSettings(requests_per_minute=0)))

    assert before == rate_lines(scope) == []


def test_a_visit_ends_with_its_request(scope: Scope) -> None:
    """Its place among those under way is free again; ending twice or without one does nothing."""
    end_visit(scope)
    visit = visit_of(PlanSettings(max_concurrent=1))
    begin_visit(scope, visit)
    visit.enter()
    with pytest.raises(TooManyInFlight):
        visit.enter()
    end_visit(scope)
    end_visit(scope)
    visit.enter()

    with pytest.raises(TooManyInFlight):
        visit.enter()
