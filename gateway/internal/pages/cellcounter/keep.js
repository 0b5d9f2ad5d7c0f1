// Storage of unsaved counts in the browser, so that a reload, a closed tab or a network failure does not lose a count. It stores
// only test and report numbers and counts, no patient data.

const prefix = "cell-counter:";
const storageKey = (subject) => prefix + [subject.test, subject.report, subject.observer].join(":");

// keep stores the count of a subject ({test, report, observer}) and replaces the previous one. It removes an empty count.
export function keep(subject, count) {
  if (count.history.length === 0) {
    forget(subject);
    return;
  }
  try {
    localStorage.setItem(storageKey(subject), JSON.stringify({ subject, count, at: Date.now() }));
  } catch {
    // Storage is disabled or full: the count exists only on the page.
  }
}

export function forget(subject) {
  try {
    localStorage.removeItem(storageKey(subject));
  } catch {
    // Storage is disabled: nothing was stored.
  }
}

// find returns the newest stored count of the test and report, or of any test if test is 0. It returns null if there is none.
export function find(test, report) {
  const found = [];
  try {
    for (let i = 0; i < localStorage.length; i++) {
      const name = localStorage.key(i);
      if (name.startsWith(prefix)) {
        found.push(JSON.parse(localStorage.getItem(name)));
      }
    }
  } catch {
    return null;
  }
  return found.filter((k) => !test || (k.subject.test === test && k.subject.report === report)).sort((a, b) => b.at - a.at)[0] || null;
}
