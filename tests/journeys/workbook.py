"""Seed of the emulator for the journeys."""

from collections.abc import Mapping
from pathlib import Path

CITIES = """name,state,country,population
New York,New York,USA,8804190
Los Angeles,California,USA,3898747
Chicago,Illinois,USA,2746388
Houston,Texas,USA,2304580
Phoenix,Arizona,USA,1608139
Philadelphia,Pennsylvania,USA,1603797
San Antonio,Texas,USA,1434625
San Diego,California,USA,1386932
Dallas,Texas,USA,1304379
San Jose,California,USA,1013240
"""
WORKBOOK: Mapping[str, Mapping[str, str]] = {
    "demo": {
        "Cities": CITIES,
        "Empty": "",
        "New": "name,state,country,population\n",
        "HeaderOnly": "name,amount\n",
        "NoHeader": ",\na,1\nb,2\n",
        "Long": "number\n" + "".join(f"{number}\n" for number in range(1, 131)),
        "BlankHeader": "name,,amount\na,hidden,1\nb,hidden,2\n",
        "BlankFirst": ",name,amount\n,a,1\n,b,2\n",
        "Duplicates": "name,amount,name\na,1,second\n",
        "BlankRow": "name,amount\na,1\n,\nb,2\n",
        "Totals": "name,amount\na,1\nb,2\n,\n,3\n",
        "Mixed": (
            "label,value,when,done\n"
            'zip,\'007,2020-01-01,TRUE\nprice,"$1,250.50",2021-06-30,FALSE\n'
            "share,50%,,TRUE\ntext,nan,2020-12-31,\nnothing,,,\ncount,1250,2019-05-05,'TRUE\n"
        ),
        "Texts": (
            "label,value\ndigits,'1250\npadded,'007\ncomma,\"'1,250\"\nplus,'+441632960000\n"
            "wide,'１２３\nhuge,'1e400\ninfinite,'inf\nexponent,'1.25e3\nnumber,1250\n"
            'money,"$1,250.00"\nminus,-5\nupper,B\nlower,a\nsame,A\nlong,bb\nempty,\n'
        ),
        "Moments": (
            "label,at\nus,6/30/2021\nnoon,2021-06-30 12:00:00\nlater,2021-07-01\n"
            "text,'2021-06-30\nnumber,44377\nempty,\n"
        ),
        "Commas": '"a,b",c\n1,2\n',
        "Formulas": "a,b,sum,note\n1,2,=A2+B2,x\n3,4,=A3+B3,y\n",
        "RowIndex": "rowIndex,name\n99,a\n98,b\n",
        "Spaced": " name ,amount\na,1\n",
        "A%2FB": "name\nslash\n",
        "a'!B1:Z9,'x": "name\nquote\n",
        "D3": "name\ncell\n",
        "1": "name\none\n",
        " lead": "name\nblank\n",
        "x:y!z": "name\npunctuation\n",
        "Städte 🏙": "name\nUmlaut\n",
        "%252F": "name\npercent\n",
        "two%0Alines": "name\nbreak\n",
    },
    "other": {"Cities": "name\nElsewhere\n"},
    "third": {"Secret": "name\ntop secret\n"},
}


def write_seed(folder: Path, workbook: Mapping[str, Mapping[str, str]] = WORKBOOK) -> None:
    """A workbook as a seed directory of the emulator."""
    for spreadsheet, worksheets in workbook.items():
        (folder / spreadsheet).mkdir(parents=True)
        for name, text in worksheets.items():
            (folder / spreadsheet / f"{name}.csv").write_text(text, encoding="utf-8")
    (folder / "private.unshared").touch()
