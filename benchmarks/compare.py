#!/usr/bin/env python3
"""Ingle beside other engines on this machine, in turn (A B A B), as ratios with their spread.

  compare.py MODEL.gguf [MODEL.gguf …] [--peers PEERS.py] [--ingle PATH] [--rounds 3] [--threads 2]

PEERS.py is a program that measures the others: `PEERS.py bench MODEL --threads N --runs 3` prints one JSON object a
line with the keys peer, pp and tg (tokens per second of prefill and decode).
"""
import argparse, json, os, statistics, subprocess, sys


def lines(command):
    out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def measure(args, model):
    ingle = [args.ingle, "bench", "latency", model, "--threads", str(args.threads), "--runs", "3", "--json", "--quiet"]
    peers = [sys.executable, args.peers, "bench", model, "--threads", str(args.threads), "--runs", "3"]
    results = {}
    for _ in range(args.rounds):
        for result in lines(ingle) + lines(peers):
            for key in ("pp", "tg"):
                if key in result:
                    results.setdefault(result["peer"], {}).setdefault(key, []).append(result[key])
    return results


def spread(values):
    return "%.1f (%.1f–%.1f)" % (statistics.median(values), min(values), max(values))


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--peers", default=os.environ.get("INGLE_PEERS_SCRIPT", os.path.join(here, "../../shared/peers/peers.py")))
    parser.add_argument("--ingle", default=os.path.join(here, "../build/release/ingle"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    args = parser.parse_args()
    for model in args.models:
        results = measure(args, model)
        print(os.path.basename(model))
        ours = results.pop("ingle", {})
        for key, name in (("pp", "prefill"), ("tg", "decode")):
            print("  %-8s ingle %s" % (name, spread(ours[key]) if key in ours else "failed"))
            for peer, values in sorted(results.items()):
                if key in values and key in ours:
                    ratio = statistics.median(ours[key]) / statistics.median(values[key])
                    print("           %-10s %s, ratio %.2f" % (peer, spread(values[key]), ratio))


if __name__ == "__main__":
    main()
