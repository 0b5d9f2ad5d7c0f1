// Storage of unsaved counts in the browser, so that a reload, a closed tab or a network failure does not lose a count.
// It stores only the login, the numbers of test, report and sample, and counts, no patient data. A count belongs to the
// login that counted it, and to one tab.

const prefix = "cell-counter:";
const storageKey = (subject) => prefix + [subject.test, subject.report, subject.observer, subject.login.key].join(":");

// attempt returns the result of an access to the storage, and otherwise if storage is disabled or full: the count then exists
// only on the page.
function attempt(access, otherwise) {
  try {
    return access();
  } catch {
    return otherwise;
  }
}

// keep stores the count of a subject ({test, report, observer, login, sample}) and replaces the previous one. It removes an empty count.
export function keep(subject, count) {
  if (count.history.length === 0) forget(subject);
  else attempt(() => localStorage.setItem(storageKey(subject), JSON.stringify({ subject, count, at: Date.now() })));
}

export const forget = (subject) => attempt(() => localStorage.removeItem(storageKey(subject)));

// find returns the login's newest stored count of the test and report, or of any test if test is 0. It returns null if there is
// none. It removes counts that version 1.0.0 stored without a login: it is unknown whose they are, and one person's cells must not
// be saved as another observer's.
export function find(test, report, login) {
  const names = attempt(() => Object.keys(localStorage).filter((name) => name.startsWith(prefix)), []);
  const stored = names.map((name) => ({ name, ...JSON.parse(localStorage.getItem(name)) }));
  for (const { name } of stored.filter(({ subject: s }) => !s.login)) attempt(() => localStorage.removeItem(name));
  return stored.filter(({ subject: s }) => s.login?.key === login && (!test || s.test === test && s.report === report))
    .sort((a, b) => b.at - a.at)[0] || null;
}

// The tab that loaded the keys of a test and report last owns their count.
const tab = crypto.getRandomValues(new Uint32Array(2)).join("-");
const ownerKey = (subject) => `cell-counter-tab:${subject.test}:${subject.report}`;

export const own = (subject) => attempt(() => localStorage.setItem(ownerKey(subject), tab));

// isOwn reports whether no other tab of this browser has taken the count over.
export const isOwn = (subject) => attempt(() => [null, tab].includes(localStorage.getItem(ownerKey(subject))), true);

export const disown = (subject) => isOwn(subject) && attempt(() => localStorage.removeItem(ownerKey(subject)));
