#!/usr/bin/env python3
"""Calculon and rehearse on the same published steps: error, ranking, memory, and time for each.

    git clone https://github.com/calculon-ai/calculon        # caa4b11 is what docs/lab-book/peers.md tells of
    bench/peers/beside_calculon.py calculon [--rehearse build/rehearse] [--cases CASES.json] [--rows]

Needs numpy, for Calculon. CASES.json is what `rehearse validate --json` printed; without it that runs here.
Rows are those of calibrate/data/published-steps.csv that Calculon can say: A100s, one of its four
recomputations, whole stages. It has no gated MLP (said as an MLP of 1.5 times the width, which has the same
FLOPs), no vocabulary, no grouped heads and no flash attention. Its system is the a100_80e.json that it ships
with, of 80 GiB. Where it has a choice that the row does not make, every choice is tried and the
one that errs least over all rows is taken: it is judged at its best.
"""

import argparse
import csv
import itertools
import json
import logging
import resource
import statistics
import subprocess
import sys
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "calibrate" / "data" / "published-steps.csv"
RECOMPUTE = {"none": "none", "selective": "attn_only", "full": "full"}
TIE_S = 1e-9


def read_rows():
    """Rows of the table with their line, and the sizes of its models."""
    models, rows, header = {}, [], None
    for number, line in enumerate(TABLE.read_text().splitlines(), 1):
        if line.startswith("# model."):
            name, sizes = line[len("# model."):].split("=", 1)
            models[name] = dict(word.split("=") for word in sizes.split()[1:])
            models[name]["family"] = sizes.split()[0]
        elif line and not line.startswith("#"):
            fields = next(csv.reader([line]))
            if header:
                row = dict(zip(header, fields), line=number)
                row["step_s"] = 0 if row["step_s"] == "oom" else float(row["step_s"])  # 0: died for memory
                rows.append(row)
            header = header or fields
    return rows, models


def knobs(layout):
    """"tp2 pp4 zero1 sp=off" as {"tp": 2, "pp": 4, "zero": 1, "sp": "off"}."""
    out = {}
    for word in layout.split():
        if "=" in word:
            key, value = word.split("=", 1)
            out[key] = value
        else:
            key = word.rstrip("0123456789")
            out[key] = int(word[len(key):])
    return out


def application(model, sequence):
    hidden, heads = int(model["hidden"]), int(model["heads"])
    gated = model["family"] == "llama"
    return {"hidden": hidden, "feedforward": int(int(model["ffn"]) * (1.5 if gated else 1)),
            "seq_size": sequence, "attn_heads": heads, "attn_size": hidden // heads,
            "num_blocks": int(model["layers"])}


def execution(row, k, overlap):
    """None where Calculon has no word for the layout."""
    tp, pp, dp = (k.get(key, 1) for key in ("tp", "pp", "dp"))
    recompute = RECOMPUTE.get(k.get("recompute", "none"))
    if recompute is None or k.get("zero", 0) > 1 or tp > 8:
        return None
    return {"num_procs": int(row["gpus"]), "tensor_par": tp, "pipeline_par": pp, "data_par": dp,
            "tensor_par_net": 0, "pipeline_par_net": int(tp * pp > 8), "data_par_net": int(tp * pp * dp > 8),
            "batch_size": int(row["global_batch"]), "microbatch_size": k.get("mb", 1), "datatype": "float16",
            "fused_activation": row["norms"] == "fused", "attention_type": "multihead",
            "activation_recompute": recompute, "pipeline_interleaving": k.get("vpp", 1),
            "optimizer_sharding": k.get("zero", 0) == 1 and dp > 1,
            "tensor_par_comm_type": "rs_ag" if k.get("sp") == "on" and tp > 1 else "ar",
            "tensor_par_overlap": "none", "seq_par_ag_redo": False, "data_par_overlap": overlap and dp > 1,
            "weight_offload": False, "activations_offload": False, "optimizer_offload": False, "training": True}


class Calculon:
    def __init__(self, folder):
        sys.path.insert(0, str(folder))
        for unused in ("pandas", "psutil"):  # of its own searches
            sys.modules.setdefault(unused, types.ModuleType(unused))
        import calculon
        self.llm, self.system = calculon.Llm, calculon.System
        self.log = logging.getLogger("calculon")
        self.sheet = json.loads((Path(folder) / "systems" / "a100_80e.json").read_text())
        self.gib = 80

    def predict(self, app, exe):
        """(seconds, GiB), or None where it refuses."""
        system = self.system(self.sheet)
        model = self.llm(self.llm.Application(app), self.log)
        try:
            model.compile(system, self.llm.Execution.from_json(exe))
            model.run(system)
        except (self.llm.Error, AssertionError):
            return None
        return model.get_total_time(), model.get_mem_tier1_cap_req() / 2**30


def cpu_s(who):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def sayable(rows, models):
    for row in rows:
        k = knobs(row["layout"])
        if not row["platform"].startswith("dgx-a100") or row["model"] not in models or execution(row, k, True) is None:
            continue
        yield row, k, application(models[row["model"]], int(row["sequence"]))


def variants(peer, said):
    """What Calculon predicts for every row under each of its choices, by name of the choice."""
    for overlap in (False, True):
        yield f"data_par_overlap={overlap}", [peer.predict(app, execution(row, k, overlap)) for row, k, app in said]


def errors(pairs):
    return [predicted / measured - 1 for predicted, measured in pairs]


def job(row):
    return row["source"], row["table"], row["sequence"], row["attention"], row["norms"], row["apart"]


def ranking(rows, predicted):
    """Kendall's tau-a and regret, means over groups of at least four rows of one job and kernels."""
    groups = {}
    for row, seconds in zip(rows, predicted):
        groups.setdefault(job(row), []).append((seconds, row["step_s"]))
    taus, regrets = [], []
    for group in groups.values():
        if len(group) < 4:
            continue
        pairs = list(itertools.combinations(group, 2))
        taus.append(sum(sign(a[0] - b[0]) * sign(a[1] - b[1]) for a, b in pairs) / len(pairs))
        regrets.append(min(group)[1] / min(m for _, m in group) - 1)
    return taus, regrets


def sign(x):
    return 0 if abs(x) < TIE_S else 1 if x > 0 else -1


def show(name, rows, predicted):
    error = errors(zip(predicted, (row["step_s"] for row in rows)))
    size = sorted(map(abs, error))
    taus, regrets = ranking(rows, predicted)
    figures = [statistics.median(size), statistics.mean(size), size[int(0.9 * len(size))], max(error, key=abs),
               statistics.mean(error), statistics.mean(taus) / 100, statistics.mean(regrets), max(regrets)]
    forms = ["7.1f", "6.1f", "6.1f", "+7.1f", "+6.1f", "6.2f", "7.1f", "6.1f"]
    print(f"{name:<10} {len(rows):>5}", *(format(100 * figure, ">" + form) for figure, form in zip(figures, forms)))


def memory(name, rows, fits):
    died = [fit for row, fit in zip(rows, fits) if not row["step_s"]]
    ran = [fit for row, fit in zip(rows, fits) if row["step_s"]]
    print(f"{name:<10} {died.count(False):>5} of {len(died)} that died refused, "
          f"{ran.count(False):>4} of {len(ran)} that ran")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("calculon", help="its folder")
    options.add_argument("--rehearse", default=str(ROOT / "build" / "rehearse"))
    options.add_argument("--cases", help="what `rehearse validate --json` printed")
    options.add_argument("--rows", action="store_true", help="print every row")
    asked = options.parse_args()
    rows, models = read_rows()
    said = list(sayable(rows, models))
    peer = Calculon(asked.calculon)
    begin = cpu_s(resource.RUSAGE_SELF)
    tried = dict(variants(peer, said))
    peer_s = (cpu_s(resource.RUSAGE_SELF) - begin) / len(tried)

    begin = cpu_s(resource.RUSAGE_CHILDREN)
    text = Path(asked.cases).read_text() if asked.cases else subprocess.run(
        [asked.rehearse, "validate", "--json", "-q", "-j", "1"], check=True, capture_output=True, text=True).stdout
    ours_s = cpu_s(resource.RUSAGE_CHILDREN) - begin
    every = json.loads(text)["cases"]
    ours = {c["line"]: c for c in every if c["id"].startswith(TABLE.name) and not c["skipped"]}

    def mean_error(them):
        return statistics.mean(map(abs, errors((t[0], row["step_s"]) for (row, _, _), t in zip(said, them)
                                               if t and row["step_s"])))
    best = min(tried, key=lambda name: mean_error(tried[name]))
    both = [(row, them) for (row, _, _), them in zip(said, tried[best]) if them and row["line"] in ours]
    timed = [(row, them) for row, them in both if row["step_s"]]
    print(f"{len(said)} rows that Calculon has words for, {len(both)} that both predict; Calculon with {best}\n")
    print("steps       rows  median   mean   90th   worst   bias    tau  regret  worst   (errors and regret in %)")
    held = [(row, them) for row, them in timed if not ours[row["line"]]["fitted"]]
    for title, part in (("all", timed), ("that no constant of rehearse was fitted to", held)):
        print(title)
        part_rows = [row for row, _ in part]
        show("  calculon", part_rows, [them[0] for _, them in part])
        show("  rehearse", part_rows, [ours[row["line"]]["predicted"] for row in part_rows])
    print("memory")
    both_rows = [row for row, _ in both]
    memory("  calculon", both_rows, [them[1] <= peer.gib for _, them in both])
    memory("  rehearse", both_rows, [ours[row["line"]]["fits"] for row in both_rows])
    print(f"time: calculon {len(said) / peer_s:.0f} rows a second of one processor" +
          (f", rehearse {len(every) / ours_s:.0f} (every row of its tables, each rehearsed event by event)"
           if not asked.cases else ""))
    if asked.rows:
        for row, them in timed:
            print(row["line"], row["model"], row["layout"], row["step_s"], round(them[0], 3),
                  ours[row["line"]]["predicted"])


if __name__ == "__main__":
    main()
