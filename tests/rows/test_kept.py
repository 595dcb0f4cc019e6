"""Values that are worked out on first use."""

from gateway.rows.kept import Kept, is_kept


class Counted:
    def __init__(self) -> None:
        self.calls = 0

    @Kept
    def answer(self) -> int:
        self.calls += 1
        return self.calls


def test_a_value_is_worked_out_once() -> None:
    """The first use makes the value, later ones find it."""
    counted = Counted()

    assert [counted.answer, counted.answer] == [1, 1]
    assert counted.calls == 1


def test_what_is_kept_can_be_told_without_making_it() -> None:
    """Asking whether a value is there does not work it out."""
    counted, other = Counted(), Counted()

    assert not is_kept(counted, "answer")
    assert counted.answer == 1
    assert is_kept(counted, "answer")
    assert not is_kept(other, "answer")
