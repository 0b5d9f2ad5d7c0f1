// Writes the dashboard of each chart: node dashboards.mjs FOLDER, with the charts in FOLDER.
import { writeFileSync } from "node:fs";
import { boards } from "./boards.mjs";
import { dashboard } from "./graph.mjs";

const [folder] = process.argv.slice(2);
if (!folder || folder.startsWith("-")) {
  console.error("usage: node dashboards.mjs FOLDER, where the charts are");
  process.exit(folder === "--help" ? 0 : 2);
}
for (const board of boards) {
  const chart = board.name === "overview" ? "gateway" : board.name; // the first page a newcomer on call reads comes with the way in
  writeFileSync(`${folder}/${chart}/files/dashboard.json`, dashboard(board));
}
