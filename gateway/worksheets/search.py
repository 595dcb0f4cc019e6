"""Search the rows of a table in slices, by a budget of steps."""

from collections.abc import Callable
from typing import TypeVar

from gateway.errors import QueryTooCostly, TooManyInFlight
from gateway.query.evaluate import Page, evaluate
from gateway.query.query import Query, condition_fields
from gateway.table.steps import Metered, OutOfSteps, Work
from gateway.table.table import Table
from gateway.worksheets.access import Access
from gateway.worksheets.scheduler import Scheduler
from gateway.worksheets.worksheet import Worksheet

T = TypeVar("T")


class Search:
    """`weigh` counts the memory of a worksheet again, after indexes were made.

    Searches of writes have a lane of their own beside the queries of their key: others' writes to
    the worksheet wait for them.
    """

    def __init__(
        self, scheduler: Scheduler, *, max_steps: int, weigh: Callable[[Worksheet], None]
    ) -> None:
        self._scheduler = scheduler
        self._max_steps = max_steps
        self._weigh = weigh

    async def page(self, worksheet: Worksheet, table: Table, query: Query, access: Access) -> Page:
        """The page of a query with `where` or `order`. Raises UnknownField, QueryTooCostly."""
        work = evaluate(table, query, table.header.seen_with(access.columns))
        try:
            return await self.run(worksheet, table, work, access.key_id)
        except OutOfSteps:
            raise self.too_costly(query, table) from None

    async def run(
        self,
        worksheet: Worksheet,
        table: Table | None,
        work: Work[T],
        key_id: str,
        *,
        is_write: bool = False,
    ) -> T:
        """The result of work for a request, on a table or on its own rows.

        Raises OutOfSteps and, if many queries of the key wait, TooManyInFlight; `not_applied` for a
        write, which is planned before it is sent.
        """
        lane = f"{key_id} write" if is_write else key_id
        metered = Metered(work, self._max_steps)
        try:
            if not self._scheduler.try_at_once(metered, lane):
                await self._scheduler.finish(metered, lane)
        except TooManyInFlight as error:
            error.outcome = "not_applied" if is_write else None
            raise
        finally:
            if (
                table is not None and metered.steps > table.last_row // 4
            ):  # an index takes at least as many
                self._weigh(worksheet)
        return metered.result

    def too_costly(self, query: Query, table: Table) -> QueryTooCostly:
        conditions = 0 if query.where is None else len(condition_fields(query.where))
        return QueryTooCostly(
            f"This query takes more than {self._max_steps:,} steps on the {table.last_row - 1:,} "
            f"rows of the worksheet, with {conditions} conditions and {len(query.order)} order "
            "terms. Use fewer conditions or order terms, or a worksheet with fewer rows. What it "
            "indexed is kept: repeated, it may take fewer steps."
        )
