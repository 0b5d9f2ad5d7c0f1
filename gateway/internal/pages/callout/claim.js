// Claims of results ("I am calling"). The other boards of the laboratory show a claim; it expires by itself.
import { request, minute } from "../assets/lab.js";

// current returns the claim of a result, null if no one is calling. now is in milliseconds of the server's clock.
export const current = (item, now) => (item.claim && Date.parse(item.claim.until) > now ? item.claim : null);

const since = (claim) => minute(new Date(claim.since));

// describe and action return the texts for the state of a claim: who is calling, and the button that changes it.
export const describe = (claim) => (!claim ? "" : claim.mine ? `You are calling since ${since(claim)}.` : `${claim.name} is calling since ${since(claim)}.`);
export const action = (claim) => (!claim ? "I am calling" : claim.mine ? "I am not calling" : "Take over");

// change claims the result, gives up the user's own claim, or, after confirmation, replaces another person's. It returns the claim
// afterwards.
export async function change(item, now) {
  const held = current(item, now);
  const path = `/operation/critical-callout/claims/${item.lab_report_id}`;
  if (held?.mine) {
    await request(path, undefined, { method: "DELETE" });
    return null;
  }
  if (held && !confirm(`${describe(held)} Take over?`)) return held;
  try {
    return await request(path, held ? { instead_of: held.since } : {}, { method: "PUT" });
  } catch (problem) {
    const { details, data } = problem.response ?? {};
    if (details === "CLAIMED") throw new Error(describe(data));
    throw problem;
  }
}
