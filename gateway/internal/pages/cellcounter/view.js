// Elements of the cell counter's tables.

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
