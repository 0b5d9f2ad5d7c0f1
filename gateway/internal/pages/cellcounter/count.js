// Arithmetic of a count in the browser, so that counting works offline. The service calculates the same at POST …/differential.

// apportion returns one integer share per tally; the shares add up to whole. It uses the largest remainder method. Of equal
// remainders the one with the larger count takes precedence, then the one with the smaller cell id.
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

// differential calculates the percentages and absolute counts of tallies ({cell_id, count, include_in_total, is_nucleated_red}).
// wbc is the white cell count, null if unknown. corrected is true if the analyser has already excluded nucleated red cells from
// it; otherwise the returned corrected is wbc without them.
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

// Counter stores the counted cells in order, so that each can be undone. Several keys may be mapped to one cell type. red
// contains the ids of nucleated red cells.
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

  // saved returns the state that restore accepts.
  saved() {
    return { history: this.history, target: this.target };
  }

  // restore sets the state that saved returned. It returns the number of cells that are left out because no key is mapped to
  // them any more.
  restore({ history, target }) {
    this.history = history.filter((id) => this.cells.has(id));
    this.target = target;
    return history.length - this.history.length;
  }

  cellOf(key) {
    const same = (other) => other.toLowerCase() === key.toLowerCase();
    return [...this.cells.values()].find((c) => c.keys.some(same)) || null;
  }

  // press counts the cell that is mapped to a key. It returns the cell, or null if no cell is mapped or the target is reached.
  press(key) {
    const cell = this.cellOf(key);
    if (!cell || this.reached()) {
      return null;
    }
    this.history.push(cell.cell_id);
    return cell;
  }

  // undo removes the last counted cell and returns it, or null if nothing is counted.
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
