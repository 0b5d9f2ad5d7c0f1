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

// differential works out tallies ({cell_id, count, include_in_total}); wbc is null when it is not known.
export function differential(tallies, wbc) {
  const included = tallies.filter((t) => t.include_in_total);
  const total = included.reduce((sum, t) => sum + t.count, 0);
  const apart = tallies.reduce((sum, t) => sum + (t.include_in_total ? 0 : t.count), 0);
  const parts = total ? apportion(included, total, 100) : included.map(() => 0);
  const corrected = wbc === null || !total ? wbc : (wbc * 100) / (100 + (100 * apart) / total);
  const shares = tallies.map((t) => ({
    ...t,
    percent: t.include_in_total ? parts[included.indexOf(t)] : total ? Math.round((t.count * 100) / total) : 0,
    absolute: wbc === null || !total ? null : (corrected * t.count) / total,
  }));
  return { total, shares, corrected };
}

// Counter keeps which cells were counted, in order, so that each can be taken back.
export class Counter {
  constructor(mappings, target) {
    this.mappings = mappings;
    this.step = target;
    this.clear();
  }

  clear() {
    this.history = [];
    this.target = this.step;
  }

  // press counts the cell of a key. It returns the mapping, or null when the key has none or the target is reached.
  press(key) {
    const mapping = this.mappings.find((m) => m.key.toLowerCase() === key.toLowerCase());
    if (!mapping || this.reached()) {
      return null;
    }
    this.history.push(mapping);
    return mapping;
  }

  undo() {
    return this.history.pop() || null;
  }

  more() {
    this.target += this.step;
  }

  total() {
    return this.history.filter((m) => m.include_in_total).length;
  }

  reached() {
    return this.total() >= this.target;
  }

  tallies() {
    const found = new Map(this.mappings.map((m) => [m.cell_id, { cell_id: m.cell_id, count: 0, include_in_total: m.include_in_total }]));
    this.history.forEach((m) => { found.get(m.cell_id).count += 1; });
    return [...found.values()];
  }
}
