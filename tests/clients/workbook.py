"""Spreadsheet for client tests, with names that look percent-encoded."""

from collections.abc import Mapping

from tests.journeys.workbook import CITIES

CLIENTS_WORKBOOK: Mapping[str, Mapping[str, str]] = {
    "demo": {
        "Cities": CITIES,
        "My Sheet": "name,amount\na,1\nb,2\n",
        "Real%2520Sheet": "name\nescaped\n",
        "Real Sheet": "name\nblank\n",
        "a+b": "name\nplus\n",
        "a b": "name\nblank\n",
        "Gro\u0308\u00dfe": "name\ndecomposed\n",
        "M\u00fcll": "name\ncomposed\n",
        "Mu\u0308ll": "name\ntwin\n",
        "Totals": "name,total sales,x,y\na,30,1,4\nb,10,2,5\nc,20,3,6\n",
        "Escaped": '"x%2Cy",x,y\n1,2,3\n0,5,6\n',
        "Commas": '"x, y",x,y\n1,2,3\n0,2,4\n2,1,5\n',
        "Text": "name,note\na,it's\nb,100%25\nc,100%\n",
        "Tasks": "name,done\na,TRUE\nb,FALSE\nc,\n",
        "Orders": (
            'item,price,due,total,note\nPen,"$1,250.50",2024-01-02,=B2*2,\n'
            "Ink,$3.00,2024-02-03,=B3*2,old\n"
        ),
        "Long": "number\n" + "".join(f"{number}\n" for number in range(1, 131)),
    },
    "other": {"Cities": "name\nElsewhere\n"},
}
"""Worksheets by file name, which is percent-encoded: `Real%2520Sheet` means `Real%20Sheet`."""
