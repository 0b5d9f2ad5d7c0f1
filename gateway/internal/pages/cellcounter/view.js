// Elements of the cell counter's tables. cells are the cell types by id.

export function td(...content) {
  const cell = document.createElement("td");
  cell.append(...content);
  return cell;
}

export function number(text) {
  const cell = td(String(text));
  cell.className = "number";
  return cell;
}

// chip is a spot in the colour of a cell type.
export function chip(cell) {
  const spot = document.createElement("span");
  spot.className = "chip";
  spot.style.backgroundColor = cell.bg_color_hex;
  return spot;
}

const typeOf = (cells, id) => cells.get(id) || { name: "Cell " + id, bg_color_hex: "#888888" };

// keypad returns a button for each counted cell, for counting on a touch screen.
export const keypad = (counted, cells, press) => counted.map((mapped) => {
  const button = document.createElement("button");
  button.type = "button";
  button.append(chip(typeOf(cells, mapped.cell_id)), typeOf(cells, mapped.cell_id).name);
  button.dataset.cell = mapped.cell_id;
  button.addEventListener("click", () => press(mapped.keys[0]));
  return button;
});

// shareRow returns the table row of a cell type in the differential.
export function shareRow(share, cells) {
  const tr = document.createElement("tr");
  const cell = typeOf(cells, share.cell_id);
  const keys = share.keys.flatMap((name, i) => {
    const key = document.createElement("kbd");
    key.textContent = name;
    return i ? [" or ", key] : [key];
  });
  tr.dataset.cell = share.cell_id;
  tr.append(td(...keys), td(chip(cell), cell.name), number(share.count), number(share.percent + (share.include_in_total ? " %" : " per 100")),
    number(share.absolute === null ? "" : share.absolute.toFixed(2)));
  return tr;
}

// agreementRow returns the table row that compares both observers' counts of a cell type.
export function agreementRow(a, cells) {
  const tr = document.createElement("tr");
  const verdict = td(a.within_chance ? "agree" : "differ");
  verdict.className = a.within_chance ? "" : "differs";
  tr.append(td(typeOf(cells, a.cell_id).name), number(a.first_percent.toFixed(1) + " %"), number(a.second_percent.toFixed(1) + " %"),
    td(a.lower_limit.toFixed(1) + " to " + a.upper_limit.toFixed(1) + " %"), verdict);
  return tr;
}
