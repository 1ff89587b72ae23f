// The rate chart: responses a second with ticks where something failed, and latencies below. Drawn by uPlot in the box
// of the picture that the server made, with the colours of hidden elements.
const SECONDS = { "5 min": 300, "1 h": 3600 };
const RATE_PX = 152;
const LATENCY_PX = 64;
const LEFT_PX = 40;

export class LiveChart {
  constructor(box, source) {
    this.box = box;
    this.source = source;
    this.span = "5 min";
    this.step = 1;
    this.columns = null;
    this.plots = [];
    document.addEventListener("themechange", () => this.draw());
    new ResizeObserver(() => this.resize()).observe(box);
  }

  async load() {
    const response = await fetch(`${this.source}?span=${encodeURIComponent(this.span)}`).catch(() => null);
    if (!response?.ok) return;
    const found = await response.json();
    this.step = found.step;
    this.columns = found.columns;
    this.draw();
  }

  // Points of whole seconds: new ones go to the end, known ones are replaced, because late responses change them.
  add(points) {
    if (!this.columns || !points.length) return;
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
    const first = times.at(-1) - SECONDS[this.span];
    while (times[0] < first) for (const column of this.columns) column.shift();
    if (this.plots.length) this.feed();
    else this.draw();
  }

  colour(name) {
    return getComputedStyle(this.box.querySelector(`[data-ink="${name}"]`)).color;
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
    const rate = this.colour("rate");
    const times = { stroke: axis, font, size: 24, space: 90, grid: { show: false }, ticks: { show: false }, values: "{HH}:{mm}:{ss}" };
    this.plots = [
      new globalThis.uPlot({
        ...common,
        height: RATE_PX,
        padding: [8, 0, 8, 0],
        scales: { y: { range: (_, low, high) => [0, Math.max(1, high * 1.1)] } },
        axes: [{ show: false }, { stroke: axis, font, size: LEFT_PX, space: 32, grid, ticks: { show: false } }],
        series: [{}, { stroke: rate, width: 1.5, fill: rate.replace(")", " / 10%)").replace(/rgb\((\d+), (\d+), (\d+)/, "rgb($1 $2 $3"), points: { show: false } }],
        hooks: { draw: [(plot) => this.ticks(plot)] },
      }, this.rates(), this.box),
      new globalThis.uPlot({
        ...common,
        height: LATENCY_PX,
        padding: [4, 0, 0, 0],
        scales: { y: { range: (_, low, high) => [0, Math.max(10, high)] } },
        axes: [times, { stroke: axis, font, size: LEFT_PX, grid: { show: false }, ticks: { show: false }, splits: (plot) => [plot.scales.y.max], values: () => ["ms"] }],
        series: [{}, { stroke: this.colour("p50"), width: 1.25, points: { show: false }, spanGaps: true }, { stroke: axis, width: 1.25, dash: [4, 3], points: { show: false }, spanGaps: true }],
      }, this.latencies(), this.box),
    ];
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
