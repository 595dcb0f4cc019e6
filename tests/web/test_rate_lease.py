"""What answers tell of a key's rate."""

import pytest
from starlette.types import Scope

from gateway.access.caller import Caller, Grants
from gateway.access.rates import KeyRates, RateLease
from gateway.errors import TooManyInFlight
from gateway.settings.plans import PlanSettings
from gateway.web.rate_lease import begin_lease, end_lease, rate_lines
from tests.clock import ManualClock
from tests.web.requests import make_scope


def lease_of(plan: PlanSettings) -> RateLease:
    """The first visit of a key on this plan."""
    caller = Caller(
        key_id="k1", name="n", plan_name="p", plan=plan, grants=Grants(spreadsheets=None)
    )
    return KeyRates({"p": plan}, ManualClock()).lease(caller)


@pytest.fixture
def scope() -> Scope:
    """The scope of a request."""
    return make_scope()


def test_an_answer_tells_what_is_left(scope: Scope) -> None:
    """As structured fields, with the policy behind it."""
    lease = lease_of(PlanSettings(requests_per_minute=600))
    begin_lease(scope, lease)
    lease.charge(10)

    assert dict(rate_lines(scope)) == {
        b"ratelimit": b'"default";r=50;t=1',
        b"ratelimit-policy": b'"default";q=600;w=60',
    }


def test_without_a_key_or_a_rate_there_is_nothing_to_tell(scope: Scope) -> None:
    """No line is better than an empty one."""
    before = rate_lines(scope)
    begin_lease(scope, lease_of(PlanSettings(requests_per_minute=0)))

    assert before == rate_lines(scope) == []


def test_a_visit_ends_with_its_request(scope: Scope) -> None:
    """Its place among those under way is free again; ending twice or without one does nothing."""
    end_lease(scope)
    lease = lease_of(PlanSettings(max_concurrent=1))
    begin_lease(scope, lease)
    lease.enter()
    with pytest.raises(TooManyInFlight):
        lease.enter()
    end_lease(scope)
    end_lease(scope)
    lease.enter()

    with pytest.raises(TooManyInFlight):
        lease.enter()
