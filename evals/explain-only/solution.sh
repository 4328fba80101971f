echo "In basket.py, line 4, the mutable default items=[] is created once and shared by all baskets."
