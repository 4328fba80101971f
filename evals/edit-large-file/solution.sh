python3 - <<'END'
lines = open("stations.txt").read().splitlines()
kept = list(dict.fromkeys(lines))
kept = [line.replace("height=214", "height=412") if line.startswith("S-13577;") else line for line in kept]
open("stations.txt", "w").write("\n".join(kept) + "\n")
END
