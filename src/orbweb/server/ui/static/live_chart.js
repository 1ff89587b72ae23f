// The rate chart: responses a second with ticks where something failed, dashed lines where a host was slowed down, and
// latencies below. Drawn by uPlot in the box of the picture that the server made, with the colours of hidden elements.
const SECONDS = { "5 min": 300, "1 h": 3600 };
const RATE_PX = 148;
const LATENCY_PX = 68;
const LEFT_PX = 40;
const TIME_PX = 56;
const NOTES = 40;
const LABEL_S = 15;

export class LiveChart {
  constructor(box, source) {
    this.box = box;
    this.source = source;
    this.span = "5 min";
    this.step = 1;
    this.columns = null;
    this.notes = [];
    this.plots = [];
    this.labelled = 0;
    document.addEventListener("themechange", () => this.draw());
    new ResizeObserver(() => this.resize()).observe(box);
  }

  async load() {
    const response = await fetch(`${this.source}?span=${encodeURIComponent(this.span)}`).catch(() => null);
    if (!response?.ok) return;
    const found = await response.json();
    this.step = found.step;
    this.columns = found.columns;
    this.notes = found.notes;
    this.ends = [found.begin, found.end];
    this.label(found.label);
    this.draw();
  }

  // Points of whole seconds: new ones go to the end, known ones are replaced, because late responses change them.
  add(points, notes) {
    if (!this.columns || !points.length) return;
    for (const [at, text] of notes) {
      if (!this.notes.some(([known, before]) => before === text && Math.abs(known - at) < 2)) this.notes.push([at, text]);
    }
    this.notes = this.notes.slice(-NOTES);
    if (this.step !== 1) {
      const last = this.columns[0].at(-1) ?? 0;
      if (points.at(-1)[0] >= last + 2 * this.step && !this.loading) {
        this.loading = true;
        this.load().finally(() => { this.loading = false; });
      }
      return;
    }
    const [times] = this.columns;
    for (const point of points) {
      let at = times.lastIndexOf(point[0]);
      if (at < 0 && times.length && point[0] < times.at(-1)) continue;
      if (at < 0) at = times.length;
      this.columns.forEach((column, number) => { column[at] = point[number]; });
    }
    const end = times.at(-1) + 1;
    this.ends = [end - SECONDS[this.span], end];
    while (times[0] < this.ends[0]) for (const column of this.columns) column.shift();
    this.describe();
    if (this.plots.length) this.feed();
    else this.draw();
  }

  colour(name) {
    return getComputedStyle(this.box.querySelector(`[data-ink="${name}"]`)).color;
  }

  // What the picture shows, in words: now and then, so that a screen reader is not interrupted.
  describe() {
    const [times, rates, failed] = this.columns;
    if (times.at(-1) - this.labelled < LABEL_S) return;
    this.labelled = times.at(-1);
    const mean = rates.reduce((sum, each) => sum + each, 0) / rates.length;
    const failing = failed.filter((each) => each > 0).length;
    const notes = this.visible().map(([, text]) => text).join("; ");
    this.label(`Responses per second of the last ${this.span}: ${mean.toFixed(1)} on average, ${Math.max(...rates).toFixed(1)} at most; ${failing} of ${times.length} seconds with failures.${notes ? ` ${notes}.` : ""}`);
  }

  label(text) {
    this.box.setAttribute("aria-label", text);
  }

  visible() {
    return this.notes.filter(([at]) => at >= this.ends[0] && at <= this.ends[1]);
  }

  draw() {
    if (!globalThis.uPlot || !this.columns || this.columns[0].length < 2) return;
    for (const plot of this.plots) plot.destroy();
    const still = this.box.querySelector("[data-still]");
    if (still) still.hidden = true;
    const axis = this.colour("axis");
    const grid = { stroke: this.colour("grid"), width: 1 };
    const font = `12px ${getComputedStyle(this.box).fontFamily}`;
    const common = {
      width: this.box.clientWidth,
      legend: { show: false },
      cursor: { show: false },
      tzDate: (at) => globalThis.uPlot.tzDate(new Date(at * 1000), "Etc/UTC"),
    };
    const time = { range: () => this.ends };
    const rate = this.colour("rate");
    const times = { stroke: axis, font, size: 24, space: 90, grid: { show: false }, ticks: { show: false }, values: (plot, splits) => splits.map((at) => this.time(plot, at)) };
    this.plots = [
      new globalThis.uPlot({
        ...common,
        height: RATE_PX,
        padding: [8, 0, 8, 0],
        scales: { x: time, y: { range: (_, low, high) => [0, Math.max(1, high * 1.15)] } },
        axes: [{ show: false }, { stroke: axis, font, size: LEFT_PX, space: 32, grid, ticks: { show: false } }],
        series: [{}, { stroke: rate, width: 1.5, fill: rate.replace(")", " / 10%)").replace(/rgb\((\d+), (\d+), (\d+)/, "rgb($1 $2 $3"), points: { show: false } }],
        hooks: { draw: [(plot) => { this.ticks(plot); this.lines(plot, font); }] },
      }, this.rates(), this.box),
      new globalThis.uPlot({
        ...common,
        height: LATENCY_PX,
        padding: [14, 0, 0, 0],
        scales: { x: time, y: { range: (_, low, high) => [0, Math.max(10, high)] } },
        axes: [times, { stroke: axis, font, size: LEFT_PX, grid: { show: false }, ticks: { show: false }, splits: (plot) => [plot.scales.y.max], values: () => ["ms"] }],
        series: [{}, { stroke: this.colour("p50"), width: 1.25, points: { show: false }, spanGaps: true }, { stroke: axis, width: 1.25, dash: [4, 3], points: { show: false }, spanGaps: true }],
      }, this.latencies(), this.box),
    ];
    for (const plot of this.plots) plot.root.setAttribute("aria-hidden", "true");
  }

  // A time of the axis; none where the edge would cut it.
  time(plot, at) {
    const x = plot.valToPos(at, "x");
    return x > plot.width - LEFT_PX - TIME_PX / 2 ? "" : new Date(at * 1000).toISOString().slice(11, 19);
  }

  ticks(plot) {
    const { ctx, bbox } = plot;
    const [times, , failed] = this.columns;
    ctx.save();
    ctx.fillStyle = this.colour("failed");
    const ratio = devicePixelRatio;
    for (let at = 0; at < times.length; at += 1) {
      if (failed[at] > 0) ctx.fillRect(plot.valToPos(times[at], "x", true) - ratio, bbox.top + bbox.height + ratio, 2 * ratio, Math.min(7, 3 + failed[at]) * ratio);
    }
    ctx.restore();
  }

  // A note has a line; its words are left out where they would lie over those of an earlier one.
  lines(plot, font) {
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.strokeStyle = this.colour("note");
    ctx.fillStyle = this.colour("note");
    ctx.lineWidth = ratio;
    ctx.font = font.replace("12px", `${12 * ratio}px`);
    ctx.textBaseline = "top";
    let free = bbox.left;
    for (const [at, words] of this.visible()) {
      const x = Math.round(plot.valToPos(at, "x", true)) + ratio / 2;
      ctx.setLineDash([3 * ratio, 3 * ratio]);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      const width = ctx.measureText(words).width;
      const right = bbox.left + bbox.width;
      const left = x + 6 * ratio + width <= right ? x + 6 * ratio : x - 6 * ratio - width;
      if (left < free) continue;
      ctx.fillText(words, left, bbox.top);
      free = Math.max(left + width, x) + 12 * ratio;
    }
    ctx.restore();
  }

  rates() {
    return [this.columns[0], this.columns[1]];
  }

  latencies() {
    return [this.columns[0], this.columns[3], this.columns[4]];
  }

  feed() {
    this.plots[0].setData(this.rates());
    this.plots[1].setData(this.latencies());
  }

  resize() {
    const width = this.box.clientWidth;
    const heights = [RATE_PX, LATENCY_PX];
    this.plots.forEach((plot, at) => { if (plot.width !== width) plot.setSize({ width, height: heights[at] }); });
  }
}
