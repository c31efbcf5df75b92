/* What an answer comes to, on cards at its head: {title, value, note, share: of a bar, 0..1}. A figure that an answer
 * does not have makes no card. */

const has = (value) => isNumber(value) && Number.isFinite(value);

function card({ title, value, note, share }) {
  return make("div", { class: "card" }, make("div", { class: "title" }, title), make("div", { class: "figure" }, value),
    has(share) ? bar(share, share > 1 ? "more" : "") : null, note ? make("div", { class: "note" }, note) : null);
}

/* "62.4 s" with its error bar in words. */
const errorNote = (r) => (has(r.error_frac) ? `\u00b1 ${percent(r.error_frac)}: 80 % of measured runs alike were within` : "error bar not known: no run alike was measured");

/* What peak an MFU is of, where that is not bf16's. */
const mfuNote = (r) => (has(r.mfu_peak) && r.mfu_peak !== "bf16" ? `of ${r.mfu_peak}'s peak${has(r.mfu_bf16_frac) ? `, ${percent(r.mfu_bf16_frac)} of bf16's` : ""}; ` : "");

function stepCards(r, inputs) {
  const tokens = (inputs.global_batch || 0) * (inputs.sequence_tokens || 0), per = (value) => (tokens && has(value) ? (value / tokens) * 1e6 : null);
  const cards = [
    { title: "time of a step", value: seconds(r.step_time_s), note: errorNote(r) },
    has(r.mfu_frac) ? { title: "MFU", value: percent(r.mfu_frac), share: r.mfu_frac, note: has(r.tokens_per_s_per_gpu) ? `${mfuNote(r)}${digits(r.tokens_per_s_per_gpu)} tokens/s per GPU` : null } : null,
    has(r.memory_peak_bytes) ? { title: "memory of the fullest GPU", value: bytes(r.memory_peak_bytes), share: r.memory_peak_bytes / r.memory_capacity_bytes,
      note: `of ${bytes(r.memory_capacity_bytes)}${has(r.odds_frac) ? `; ${percent(r.odds_frac)} likely to fit` : "; odds not known"}` } : null,
    has(r.cost_usd) ? { title: "cost of a step", value: `${digits(r.cost_usd)} USD`, note: per(r.cost_usd) ? `${digits(per(r.cost_usd))} USD per million tokens` : null }
      : { title: "cost of a step", value: "no price", note: "--set price=2.40USD gives an hour of a GPU one" },
    has(r.energy_j) ? { title: "energy of a step", value: scaled(r.energy_j / 3600, "Wh"), note: per(r.energy_j) ? `${scaled(per(r.energy_j) / 3600, "Wh")} per million tokens` : null } : null,
  ];
  return cards.filter(Boolean);
}

/* "p99<1 s kept: 99.4 %" of a metric's levels. */
function levelsNote(doc, metric) {
  return (doc.service_levels || []).filter((level) => level.metric === metric).map((level) =>
    `${level.share_frac ? `p${Number((100 * level.share_frac).toPrecision(4))}` : "mean"} < ${seconds(level.limit_s)}: ${level.kept ? "kept" : "broken"}`).join("; ");
}

function spreadCard(doc, title, key, metric) {
  const spread = doc[key];
  if (!spread || !has(spread.p50)) return null;
  return { title: `${title}, p99`, value: seconds(spread.p99), note: [`median ${seconds(spread.p50)}`, levelsNote(doc, metric)].filter(Boolean).join(". ") };
}

/* Of a service that was played, or the best one of a plan. */
function serviceCards(doc, gpus, rate, rateNote) {
  const cost = doc.cost_usd_per_million_tokens, energy = doc.energy_j_per_token;
  return [
    { title: "requests served", value: `${digits(rate)} /s`, note: rateNote },
    { title: "GPUs", value: digits(gpus), note: has(doc.throughput_tokens_per_s_per_gpu) && doc.throughput_tokens_per_s_per_gpu > 0 ? `${digits(doc.throughput_tokens_per_s_per_gpu)} tokens/s made by each` : null },
    spreadCard(doc, "time to the first token", "ttft_s", "ttft"), spreadCard(doc, "time per further token", "tpot_s", "tpot"),
    has(doc.tpot_s && doc.tpot_s.p50) ? null : spreadCard(doc, "time to the answer", "e2e_s", "e2e"),
    has(doc.kv_peak_frac) ? { title: "cache in use", value: percent(doc.kv_peak_frac), share: doc.kv_peak_frac, note: "at most, of the fullest server" } : null,
    has(cost) ? { title: "cost", value: `${digits(cost)} USD`, note: "per million tokens made" } : { title: "cost", value: "no price", note: "--set price=2.40USD gives an hour of a GPU one" },
    has(energy) && energy > 0 ? { title: "energy", value: `${digits(energy)} J`, note: "per token made" } : null,
  ].filter(Boolean);
}

function capacityCards(cell) {
  return [
    { title: "cluster", value: cell.platform, note: `${digits(cell.gpus_count)} GPUs` },
    has(cell.seconds) ? { title: "time of the run", value: `${digits(cell.seconds / 86400)} days`, note: has(cell.gpu_hours) ? `${digits(cell.gpu_hours)} GPU hours` : null } : null,
    has(cell.answer_s) ? { title: "time to the answer", value: seconds(cell.answer_s), note: cell.deployment } : null,
    has(cell.usd) ? { title: "cost", value: `${digits(cell.usd)} USD` } : null,
    has(cell.usd_per_million) ? { title: "cost", value: `${digits(cell.usd_per_million)} USD`, note: "per million tokens made" } : null,
    has(cell.run_energy_j) ? { title: "energy", value: scaled(cell.run_energy_j / 3600, "Wh") } : null,
    has(cell.mfu_frac) ? { title: "MFU", value: percent(cell.mfu_frac), share: cell.mfu_frac, note: mfuNote(cell) + layoutText(cell.layout) } : null,
  ].filter(Boolean);
}

/* Of a whole run with its failures. */
function runCards(doc) {
  const days = (value) => `${digits(value / 86400)} days`, spread = (s, text) => `p10 ${text(s.p10)}, p50 ${text(s.p50)}, p90 ${text(s.p90)}`;
  const usd = (value) => `${digits(value)} USD`, count = doc.failures.count;
  return [
    { title: "time of the run", value: days(doc.time_s.mean), note: `${spread(doc.time_s, days)}; ${days(doc.work_s)} without failures and checkpoints` },
    { title: "goodput", value: percent(doc.goodput_frac), share: doc.goodput_frac, note: "of the GPU time paid for" },
    doc.usd ? { title: "cost", value: usd(doc.usd.mean), note: `${spread(doc.usd, usd)}; ${digits(doc.gpu_hours)} GPU hours` }
      : { title: "cost", value: "no price", note: `${digits(doc.gpu_hours)} GPU hours; --set price_per_gpu_hour=2.40USD gives a price` },
    { title: "failures", value: digits(count.mean), note: spread(count, digits) },
    { title: "checkpoint", value: `every ${seconds(doc.checkpoint.every_s)}`, note: doc.checkpoint.searched ? "of work, the best interval" : "of work, as given" },
  ];
}

/* Of the best placement of trainer and servers. */
function rlCards(doc) {
  const e = doc.entries[0], apart = e.placement !== "colocated";
  return [
    { title: "time of a step", value: seconds(e.step_s), note: "error bar not known: no run alike was judged" },
    { title: "placement", value: e.placement, note: apart ? `${digits(e.trainer.gpus_count)} GPUs train, ${digits(e.servers.gpus_count)} answer` : `${digits(e.trainer.gpus_count)} GPUs in turns` },
    { title: "training", value: seconds(e.forward_s + e.updates_s), note: `${seconds(e.forward_s)} of passes forward` },
    { title: "the trainer waits", value: seconds(e.trainer_waits_s), share: e.trainer_waits_s / e.step_s, note: "for answers, a step" },
    { title: "age of answers", value: digits(e.age_mean_count), note: `updates in the mean, p99 ${digits(e.age_p99_count)}` },
    has(e.cost_usd) ? { title: "cost of a step", value: `${digits(e.cost_usd)} USD`, note: `${digits(e.gpu_hours)} GPU hours` } : { title: "cost of a step", value: "no price", note: `${digits(e.gpu_hours)} GPU hours` },
  ];
}

/* Of a plan's layouts, the one that the page is about. */
const rankShown = () => Number(document.querySelector("main").dataset.rank);

function cardsOf(doc) {
  const schema = doc.schema || "", inputs = doc.inputs || {}, plans = doc.plans || [];
  if (schema.startsWith("rehearse.plan/") && plans.length) return stepCards(plans[rankShown() - 1] || plans[0], inputs);
  if (schema.startsWith("rehearse.simulate/") && has(doc.step_time_s)) return stepCards(doc, inputs);
  if (schema.startsWith("rehearse.serve/") && plans.length)
    return serviceCards(plans[0], plans[0].gpus_count, plans[0].rate_max_per_s, plans[0].deployment);
  if (schema.startsWith("rehearse.serve/") && has(doc.request_rate_per_s))
    return serviceCards(doc, doc.gpus_count, doc.request_rate_per_s, `${digits(doc.completed_count)} of ${digits(doc.requests_count)} requests${doc.slo_met_frac < 1 ? `, ${percent(doc.slo_met_frac)} within their levels` : ""}`);
  if (schema.startsWith("rehearse.run/")) return runCards(doc);
  if (schema.startsWith("rehearse.rl-plan/") && doc.entries.length > 0) return rlCards(doc);
  if (schema.startsWith("rehearse.study-table/")) return studyCards(doc);
  if (doc.cells && isNumber(doc.best)) return capacityCards(doc.cells[doc.best - 1]);
  return [];
}
