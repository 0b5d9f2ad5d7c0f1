// The arithmetic of a count, as the service's own: see POST …/differential. It works without a network.

// apportion divides whole units over counts by largest remainder. Equal remainders go to the larger count, then to the
// smaller cell id.
function apportion(tallies, total, whole) {
  const parts = tallies.map((t) => Math.floor((t.count * whole) / total));
  const left = whole - parts.reduce((sum, part) => sum + part, 0);
  tallies
    .map((t, i) => ({ i, rest: (t.count * whole) % total, count: t.count, id: t.cell_id }))
    .sort((a, b) => b.rest - a.rest || b.count - a.count || a.id - b.id)
    .slice(0, left)
    .forEach(({ i }) => { parts[i] += 1; });
  return parts;
}

// differential works out tallies ({cell_id, count, include_in_total, is_nucleated_red}). wbc is null when it is not known;
// corrected tells that the analyser has left the nucleated red cells out of it already.
export function differential(tallies, wbc, corrected = false) {
  const included = tallies.filter((t) => t.include_in_total);
  const total = included.reduce((sum, t) => sum + t.count, 0);
  const red = tallies.reduce((sum, t) => sum + (t.is_nucleated_red && !t.include_in_total ? t.count : 0), 0);
  const parts = total ? apportion(included, total, 100) : included.map(() => 0);
  const white = wbc === null || !total || corrected ? wbc : (wbc * 100) / (100 + (100 * red) / total);
  const shares = tallies.map((t) => ({
    ...t,
    percent: t.include_in_total ? parts[included.indexOf(t)] : total ? Math.round((t.count * 100) / total) : 0,
    absolute: wbc === null || !total ? null : (white * t.count) / total,
  }));
  return { total, shares, corrected: white };
}

// Counter keeps which keys were pressed, in order, so that each can be taken back. Two keys may count one cell.
export class Counter {
  constructor(mappings, target, red = new Set()) {
    this.step = target;
    this.cells = new Map();
    for (const m of mappings) {
      const cell = this.cells.get(m.cell_id) || { cell_id: m.cell_id, keys: [], include_in_total: false, is_nucleated_red: red.has(m.cell_id) };
      cell.keys.push(m.key);
      cell.include_in_total ||= m.include_in_total;
      this.cells.set(m.cell_id, cell);
    }
    this.clear();
  }

  clear() {
    this.history = [];
    this.target = this.step;
  }

  // kept is what a reload brings back.
  kept() {
    return { history: this.history, target: this.target };
  }

  // bringBack returns how many cells could not be counted again because nothing is mapped to them any more.
  bringBack({ history, target }) {
    this.history = history.filter((id) => this.cells.has(id));
    this.target = target;
    return history.length - this.history.length;
  }

  cellOf(key) {
    const same = (other) => other.toLowerCase() === key.toLowerCase();
    return [...this.cells.values()].find((c) => c.keys.some(same)) || null;
  }

  // press counts the cell of a key. It returns the cell, or null when the key has none or the target is reached.
  press(key) {
    const cell = this.cellOf(key);
    if (!cell || this.reached()) {
      return null;
    }
    this.history.push(cell.cell_id);
    return cell;
  }

  // undo returns the cell that was taken back, null when there is none.
  undo() {
    return this.cells.get(this.history.pop()) || null;
  }

  more() {
    this.target += this.step;
  }

  total() {
    return this.history.filter((id) => this.cells.get(id).include_in_total).length;
  }

  reached() {
    return this.total() >= this.target;
  }

  tallies() {
    const counts = new Map();
    this.history.forEach((id) => counts.set(id, (counts.get(id) || 0) + 1));
    return [...this.cells.values()].map((c) => ({ ...c, count: counts.get(c.cell_id) || 0 }));
  }
}
