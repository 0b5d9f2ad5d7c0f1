// Saving a count, with the questions that a refusal leads to. Nothing is replaced, and no sample is exchanged, unless the user agrees.
import { moment, request } from "../assets/lab.js";

// save stores a count ({observer, counts, sample_id}). If another count would be replaced, or the sample has changed, agreed(question, label
// of the confirming button) asks the user. If the user declines, the error of the 409 response is thrown.
export async function save(path, count, agreed) {
  try {
    await request(path, count, { method: "PUT" });
  } catch (error) {
    const change = error.status === 409 && await changeFor(error.response.data, path, count, agreed);
    if (!change) throw error;
    await save(path, { ...count, ...change }, agreed);
  }
}

// changeFor returns what the next request says differently, or null. stored describes a count that would be replaced.
async function changeFor(stored, path, { counts, sample_id: counted }, agreed) {
  const total = counts.reduce((sum, one) => sum + one.count, 0);
  if (stored?.version) {
    const question = `${stored.total} cells of observer ${stored.observer} by ${stored.counted_by_name || "someone"}, ` +
      `${moment(stored.counted_at * 1000)}, are stored for this report. Replace them with your ${total}?`;
    return await agreed(question, "Replace") ? { if_version: stored.version } : null;
  }
  const { sample_id: present } = await request(path).catch(() => ({}));
  if (!counted || !present || present === counted) return null;
  const question = `The report had sample ${counted} when its keys were loaded, and has sample ${present} now. Did you count these ${total} cells on sample ${present}?`;
  return await agreed(question, `They are of ${present}`) ? { sample_id: present } : null;
}
