// Counts that are not saved yet, kept in this browser: a reload, a closed tab or a lost network must not lose one. What is
// kept are numbers of tests and reports and what was counted, nothing of a patient.

const prefix = "cell-counter:";
const place = (subject) => prefix + [subject.test, subject.report, subject.observer].join(":");

// keep stores the count of a subject ({test, report, observer}); an empty count is forgotten.
export function keep(subject, count) {
  if (count.history.length === 0) {
    forget(subject);
    return;
  }
  try {
    localStorage.setItem(place(subject), JSON.stringify({ subject, count, at: Date.now() }));
  } catch {
    // Without a place to keep it the count stays on the page.
  }
}

export function forget(subject) {
  try {
    localStorage.removeItem(place(subject));
  } catch {
    // There is none.
  }
}

// find returns the newest count that was kept of the test and report, of any when test is 0, or null.
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
