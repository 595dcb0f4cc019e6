"""Number formats by kind of displayed value, and random numbers for each kind."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from gateway.table.moments import DAY, LONGEST_CLOCK, Moment
from sheets_emulator.formats.numeral import displayed_number

EPOCH = datetime(1899, 12, 30)
DAYS_OF_CALENDAR = 2_958_465
"""Serial number of 9999-12-31, the last day."""

DAYS = (
    "yyyy-mm-dd", "m/d/yyyy", "d/m/yyyy", "dd/mm/yyyy", "dd.mm.yyyy", "d.m.yy", "m/d/yy",
    "dd-mm-yy", "yyyy/mm/dd", "yyyy. m. d", "yyyy.mm.dd.", "mmm d, yyyy", "mmmm d, yyyy",
    "d mmmm yyyy", "d. mmmm yyyy", "dddd, mmmm d, yyyy", "ddd d mmm", "d-mmm-yy", "dd-mmm-yyyy",
    "mmm d", "d mmm", "mmmm dd", "mmm yyyy", "mmmm yyyy", "mmm-yy", "mmm 'yy", "yyyy mmm", "dd/mm",
    "m/d", "d.m.", "mm/yyyy", "yyyy-mm", "mm/yy", 'yyyy"年"m"月"d"日"', "yyyy年m月", "m月d日",
    "yyyy년 m월 d일", 'd "de" mmmm "de" yyyy', "mmmmm d, yyyy", r"\w\e\e\k\ \o\f m/d/yyyy",
    "yyyy-mm-dd;@", "d. m. yyyy", "d.m.yyyy г.", "yyyy. mm. dd.", "yyyy/m/d",
)  # fmt: skip
DATE_TIMES = (
    "yyyy-mm-dd hh:mm", "yyyy-mm-dd hh:mm:ss", "yyyy-mm-dd hh:mm:ss.000", r"yyyy-mm-dd\Thh:mm:ss",
    r"yyyy-mm-dd\Thh:mm:ss.000\Z", "m/d/yyyy h:mm", "m/d/yyyy h:mm:ss", "m/d/yyyy h:mm:ss am/pm",
    "m/d/yy h:mm:ss", "dd.mm.yyyy hh:mm:ss", "dd.mm.yyyy hh:mm", "dd.mm.yyyy hh.mm", "d.m.yy h:mm",
    "d mmm yyyy h:mm am/pm", "mmm d h:mm", "dd/mm h:mm", "ddd mmm dd, h:mm am/pm",
    "h:mm dd/mm/yyyy", "h:mm:ss.00 a/p, d mmm yy", "h am/pm, ddd mmm dd", "hh:mm, d. mmmm",
    'd.m.yyyy "um" hh:mm "Uhr"', 'yyyy"年"m"月"d"日" h"时"mm"分"', "dd-mm-yyyy hh-mm-ss",
    "mmm yyyy hh:mm", "d/m/yyyy h:mm:ss", "dd.mm.yyyy hh.mm.ss", "yyyy/mm/dd h:mm:ss",
    'd.m.yyyy "kl." hh.mm.ss',
)  # fmt: skip
CLOCKS = (
    "h:mm", "hh:mm", "h:mm:ss", "hh:mm:ss", "hh:mm:ss.0", "hh:mm:ss.00", "hh:mm:ss.000",
    "h:mm am/pm", "hh:mm:ss am/pm", "h:mm a/p", 'hh:mm A/P".M."', "am/pm h:mm", "hh.mm.ss",
    'h"時"mm"分"', 'h"h"mm', 'hh:mm "Uhr"',
)  # fmt: skip
LENGTHS = (
    "[h]:mm", "[h]:mm:ss", "[hh]:mm:ss.000", "[hh]:[mm]:[ss]", "[hhhh]:mm", '[h]"h "mm"m"',
    '[h]"h "mm"m "ss"s"', '[h] "hours" mm "min"', "[m]:ss", "[mm]:ss.0", "[mmmm]:[ss].000",
    '[h]:mm "h"', "[h]:mm;([h]:mm)",
)  # fmt: skip
TOO_LITTLE = (
    "yyyy", "yy", "mmmm", "mmm", "dddd", "d", "dd", "mm", "yyyymmdd", "dd.mm", "mm.yyyy", "[ss]",
    "[h]",
)  # fmt: skip
"""Formats of dates and durations whose displayed texts look like plain numbers or single words."""
NUMBERS = (
    "0", "0.00", "#,##0", "#,##0.00", "0%", "0.0%", "$#,##0.00", '"$"#,##0.00;("$"#,##0.00)',
    "[$€-2] #,##0.00", '#,##0.00" €"', '"CHF "0', '"CHF "#,##0.00', '0" kr"', '0" kg"', '0.0" kg"',
    '0.00" kg"', '0" Stück"', '0.0" pcs"', '0" шт."', '0"個"', '0"年"', "(0)", '0.0"M"', '0.0,,"M"',
    '0.0,"k"', '0," TEUR"', '0," tys."', '0" h"', '0.00"h"', '0.0" h"', '0" min"', "00000",
    "000-000", "000-00-0000", "(000) 000-0000", '"SKU-"0', '"SKU-"00000', "0.00E+00",
    "##0.0E+0", "# ?/?", "# ??/??", "?/?", "# ??/16", '"No. "0', '"#"0', '0"/10"', '0":00"',
    '0":"00', '00":"00":"00',
    '"2026-"0', '"2026-"00"-01"', '"Q"0', '"Q"0" 2026"', '"v"0.0', '"v"0"."0"."0', '000"."000',
    "00-00", "00-00-00", "00/00/0000", "00.00.00", '0" Dec"', '0" May 2026"', '"May "0', '0"th"',
    '0"°"', '0" x 0"', '0" of 12"', '0" / 31"', "# ##0", "#'##0", '0"-"0"-"0', '"week "0',
    '0" (1905)"', '0" AM"', '0" o\'clock"', '"€"0', "₹#,##0", "0.00;-0.00;0", "[<1]0%;0", "0.##",
    "General", ";;;",
)  # fmt: skip
LANGUAGES: Mapping[str, Sequence[str]] = {
    "fr": ("janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.",
           "nov.", "déc."),
    "ru": ("янв.", "февр.", "мар.", "апр.", "мая", "июн.", "июл.", "авг.", "сент.", "окт.",
           "нояб.", "дек."),
    "th": ("ม.ค.", "ก.พ.", "มี.ค.", "เม.ย.", "พ.ค.", "มิ.ย.", "ก.ค.", "ส.ค.", "ก.ย.", "ต.ค.",
           "พ.ย.", "ธ.ค."),
    "pl": ("sty", "lut", "mar", "kwi", "maj", "cze", "lip", "sie", "wrz", "paź", "lis", "gru"),
    "he": ("ינו׳", "פבר׳", "מרץ", "אפר׳", "מאי", "יוני", "יולי", "אוג׳", "ספט׳", "אוק׳", "נוב׳",
           "דצמ׳"),
    "hi": ("जन॰", "फ़र॰", "मार्च", "अप्रैल", "मई", "जून", "जुल॰", "अग॰", "सित॰", "अक्टू॰", "नव॰",
           "दिस॰"),
    "vi": ("thg 1", "thg 2", "thg 3", "thg 4", "thg 5", "thg 6", "thg 7", "thg 8", "thg 9",
           "thg 10", "thg 11", "thg 12"),
}  # fmt: skip
"""Short names of months by language, from CLDR. The format `mmm` displays the short name."""
NAMED_MONTHS = (
    ("day", "d mmm yyyy"),
    ("day", "d mmm"),
    ("day", "mmm yyyy"),
    ("date and time", "d mmm yyyy h:mm"),
)
ENGLISH = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True, kw_only=True)
class Format:
    """Number format of cells. `kind` is the group of `pattern`, such as "number" or "too little".

    `language` is the language of month names, or "" for English.
    """

    kind: str
    pattern: str
    language: str = ""

    def __str__(self) -> str:
        return f"{self.pattern} ({self.language})" if self.language else self.pattern

    def display(self, number: float) -> str:
        """Return the text that Google displays for a number in this format."""
        text = displayed_number(number, self.pattern)
        for english, name in zip(ENGLISH, LANGUAGES.get(self.language, ENGLISH), strict=True):
            if english in text:
                return text.replace(english, name)
        return text

    def moment(self, number: float) -> Moment | None:
        """Return the date, time or duration of a cell with this number, or None for an ordinary
        number.
        """
        milliseconds = round(number * DAY)
        limit = DAYS_OF_CALENDAR if self.kind in ("day", "date and time") else LONGEST_CLOCK // DAY
        if self.kind in ("number", "too little") or abs(number) > limit:
            return None
        if self.kind == "length" or (self.kind == "clock" and 0 <= milliseconds < DAY):
            return Moment(milliseconds, is_clock=True)
        is_day = self.kind == "day" and milliseconds % DAY == 0
        return Moment(milliseconds, is_clock=False, is_day=is_day)


FORMATS = (
    *(Format(kind="day", pattern=pattern) for pattern in DAYS),
    *(Format(kind="date and time", pattern=pattern) for pattern in DATE_TIMES),
    *(
        Format(kind=kind, pattern=pattern, language=language)
        for language in LANGUAGES
        for kind, pattern in NAMED_MONTHS
    ),
    *(Format(kind="clock", pattern=pattern) for pattern in CLOCKS),
    *(Format(kind="length", pattern=pattern) for pattern in LENGTHS),
    *(Format(kind="too little", pattern=pattern) for pattern in TOO_LITTLE),
    *(Format(kind="number", pattern=pattern) for pattern in NUMBERS),
)


def _is_hour(number: float) -> bool:
    return -0.5 <= number < 24.5


def _is_day_of_thousands(number: float) -> bool:
    at = EPOCH + timedelta(milliseconds=round(number * DAY))
    return int(abs(number) / 1_000 + 0.5) in (at.day, at.year % 100)


def _is_midnight_in_december(number: float) -> bool:
    at = EPOCH + timedelta(milliseconds=round(number * DAY))
    return at.month == 12 and at.hour == 0


def _is_1905(number: float) -> bool:
    return 1_904.5 <= number < 1_906


TWINS: Mapping[str, Callable[[float], bool]] = {
    **dict.fromkeys(('0":00"', '0":"00', '00":"00":"00', "00.00.00"), _is_hour),
    **dict.fromkeys(('0" x 0"', '0" of 12"'), _is_hour),
    '0," tys."': _is_day_of_thousands,
    "00-00": lambda number: round(number) == 501,
    "h am/pm, ddd mmm dd": _is_midnight_in_december,
    **dict.fromkeys(("mmm yyyy", "mmmm yyyy", "yyyy mmm"), _is_1905),
}
"""Functions by format, which are True for numbers whose displayed text has two meanings.

`6:00` can be a time or 6.25, `0:00` midnight or zero, `14 tys.` the 14th of a month or 14,000.
`05-01` can be the month of day number 501. `12 AM, Fri Dec 04` can be the month 12 without an hour.
`Mar 1905` is the number 1905 with a name, as in `SKU-1905`, or a month in 1905.
"""


def is_twin(form: Format, number: float) -> bool:
    """True if the displayed text of this number has two meanings, so that both results are
    right.
    """
    is_day = abs(number) < DAYS_OF_CALENDAR / 2
    return is_day and form.pattern in TWINS and TWINS[form.pattern](number)


def drawn_number(kind: str, random: Random) -> float:
    """Return a random number for a kind of format. Many such numbers are hard to recognise."""
    return random.choice(DRAWS[kind])(random)


def _day(random: Random) -> float:
    return float(random.randrange(1, 80_000))


def _recent_day(random: Random) -> float:
    return float(random.randrange(43_831, 47_848))


def _old_day(random: Random) -> float:
    return float(random.randrange(-328_000, 2_958_466))


def _moment(random: Random) -> float:
    return _recent_day(random) + _time(random)


def _time(random: Random) -> float:
    return random.randrange(86_400) / 86_400


def _whole_minute(random: Random) -> float:
    return random.randrange(1_440) / 1_440


def _any_time(random: Random) -> float:
    return random.random()


def _rounded_time(random: Random) -> float:
    """Return a time just below a whole second, minute or hour, in days."""
    below = random.choice((0.0004, 0.0006, 0.004, 0.04, 0.4, 0.5, 1e-7))
    unit = random.choice((1, 60, 3_600))
    return (random.randrange(1, 86_400 // unit) * unit - below) / 86_400


def _length(random: Random) -> float:
    return random.choice((1, 40, 4_000, 100_000)) * random.random() * random.choice((1, 1, -1))


def _whole_length(random: Random) -> float:
    return random.randrange(86_400 * 40) / 86_400


def _share(random: Random) -> float:
    """Return a number that is a simple fraction of a day, such as 0.25."""
    return random.randrange(0, 400) / random.choice((1, 2, 4, 8, 24, 60, 100, 1_440))


def _own_year(random: Random) -> float:
    """Return a number near 1905, which is also the serial number of a day in 1905."""
    return random.choice((1.0, 0.1, 0.01)) * random.randrange(1_900, 1_911)


def _digits_of_a_date(random: Random) -> float:
    """Return the digits of a date or time as one number, such as 20260201 or 1030."""
    day, month, year = (
        random.randrange(1, 32),
        random.randrange(1, 13),
        random.randrange(1_950, 2_040),
    )
    hour, minute = random.randrange(24), random.randrange(60)
    return float(
        random.choice((
            year * 10_000 + month * 100 + day, day * 1_000_000 + month * 10_000 + year,
            (year % 100) * 10_000 + month * 100 + day, day * 10_000 + month * 100 + year % 100,
            day * 100 + month, month * 100 + day, hour * 100 + minute, year, year * 100 + month,
        ))
    )  # fmt: skip


DRAWS: Mapping[str, Sequence[Callable[[Random], float]]] = {
    "day": (_day, _day, _recent_day, _old_day, _moment),
    "date and time": (
        _moment,
        _moment,
        lambda random: _day(random) + _whole_minute(random),
        lambda random: _old_day(random) + _any_time(random),
        lambda random: _recent_day(random) + _rounded_time(random),
        _recent_day,
    ),
    "clock": (_time, _time, _any_time, _whole_minute, _rounded_time, _moment),
    "length": (_whole_length, _whole_length, _length, _rounded_time, _time),
    "too little": (_day, _recent_day, _moment),
    "number": (
        lambda random: float(random.randrange(0, 3_000)),
        lambda random: random.uniform(0, 100),
        lambda random: float(random.randrange(0, 10**7)),
        lambda random: random.uniform(-1_000, 1_000),
        lambda random: float(random.randrange(40_000, 50_000)),
        lambda random: random.randrange(1, 300) / 10,
        lambda random: random.randrange(-10_000, 10_000_000) / 100,
        _share,
        _own_year,
        _digits_of_a_date,
        _moment,
    ),
}
