import sys
sys.path.insert(0, ".")
import report

if sys.argv[1] == "same":
    rows = [("tea", 2.5), ("coffee", 10), ("milk", 2.5)]
    lines = "coffee       10.00\nmilk          2.50\ntea           2.50\ntotal        15.00"
    assert report.sales(rows) == "SALES\n" + lines
    assert report.costs(rows) == "COSTS\n" + lines
    assert report.hours(rows) == "HOURS\ncoffee        10.0\nmilk           2.5\ntea            2.5\ntotal         15.0"
    for function in (report.sales, report.costs, report.hours):
        try:
            function([("x", -1)])
        except ValueError as error:
            assert str(error) == "negative amount of x"
        else:
            raise AssertionError("a negative amount is accepted")
else:
    text = open("report.py").read()
    assert text.count("raise ValueError") == 1 and text.count("sorted(") == 1
    assert len(text.splitlines()) < 35
