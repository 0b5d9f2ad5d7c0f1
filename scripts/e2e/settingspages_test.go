package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestCounterKeysPageMapsKeys maps keys by pressing them, as a laboratory's head of haematology does: from the default
// keys of a test to other ones and back, including a key that two cells cannot share.
func TestCounterKeysPageMapsKeys(t *testing.T) {
	const test = 77031
	seedTest(t, test)
	applyFixture(t, fmt.Sprintf(`{"mysql":{"AllTests":[{"id":%d,"labId_id":12,"testName":"Marrow differential"}],
		"cell_counter_mappings":[{"test_id":%d,"key":"n","cell_id":1,"report_format_index":1,"report_format_order":1,"created_at":0,"updated_at":0},
		{"test_id":%d,"key":"l","cell_id":3,"report_format_index":2,"report_format_order":2,"created_at":0,"updated_at":0}]}}`, test, test, test))
	p := openPage(t, stack.Endpoints.Gateway)
	p.login(labSession)
	p.visit("/cell-counter/", `document.querySelector("header a.settings") !== null`)
	p.Eval(`document.querySelector("header a.settings").click()`) // not by position, which may change during loading
	p.Await("tests with their keys", `location.pathname === "/cell-counter-keys/" && document.querySelectorAll("#tests button").length > 0`)
	p.Fill("name", "input", "MARROW")
	p.Eval(`document.getElementById("find").requestSubmit()`)
	p.Await("the test by a part of its name", `document.getElementById("tests").textContent === "Marrow differentialdefault keys"`)
	p.Do(chromedp.Click(chromedp.CSS("#tests button")))
	rows := func() string {
		return p.Eval(`[...document.querySelectorAll("#rows tr")].map((tr) => [tr.children[0].textContent, tr.querySelector("kbd")?.textContent ?? "-", tr.querySelector("select").selectedOptions[0].text].join(" ")).join("; ")`)
	}
	p.Await("the default keys", `document.querySelectorAll("#rows tr").length === 5 && document.getElementById("scope").textContent.startsWith("These are the default keys")`)
	if got := rows(); got != "P1 n Neutrophil; P2 l Lymphocyte; P3 - No cell; P4 - No cell; P5 - No cell" {
		t.Errorf("rows: %s", got)
	}
	p.Pictures("counter-keys")
	press := func(row int, key string) {
		t.Helper()
		p.Eval(fmt.Sprintf(`document.querySelector("#rows tr:nth-child(%d) button").click()`, row))
		p.Press(key)
	}
	told := func(what, text string) {
		t.Helper()
		p.Await(what, fmt.Sprintf(`document.getElementById("told").textContent.includes(%q)`, text))
	}
	submit := func() { p.Eval(`document.getElementById("save").requestSubmit()`) }
	press(3, "m") // the default key of monocytes selects them
	press(4, "q")
	submit()
	told("what a row lacks", "Complete the rows with a note")
	press(4, "m")
	p.Eval(`((s) => { s.value = "5"; s.dispatchEvent(new Event("change")); })(document.querySelector("#rows tr:nth-child(4) select"))`)
	p.Fill("target", "input", "200")
	submit()
	p.Await("the key that is chosen twice, in its row", `document.querySelector("#rows tr:nth-child(4) .bad")?.textContent === "The key m is also on P3."`)
	p.Pictures("counter-keys-refused")
	press(4, kb.Enter)
	submit()
	p.Await("what the server refuses, in its row", `document.querySelector("#rows tr:nth-child(4) .bad")?.textContent.includes("key Enter is reserved") === true`)
	p.Clean() // the refusal is an error in the console
	press(4, "e")
	submit()
	told("the answer", "Saved.")
	if got := rows() + " " + p.Eval(`document.getElementById("scope").textContent + document.getElementById("target").value`); got != "P1 n Neutrophil; P2 l Lymphocyte; P3 m Monocyte; P4 e Eosinophil; P5 - No cell These are your laboratory's keys.200" {
		t.Errorf("after saving: %s", got)
	}
	p.Eval(`document.querySelector("#rows tr:nth-child(2) [data-part=remove]").click()`)
	told("a key is removed", "The key l counts nothing any more")
	p.visit(fmt.Sprintf("/cell-counter-keys/?test=%d", test), `document.querySelectorAll("#rows kbd").length === 3`)
	p.Do(chromedp.Click(chromedp.CSS("#reset")))
	p.Await("a question", `document.getElementById("ask").open`)
	p.Do(chromedp.Click(chromedp.CSS("#no")))
	p.Do(chromedp.Click(chromedp.CSS("#reset")))
	p.Await("a question", `document.getElementById("ask").open`)
	p.Do(chromedp.Click(chromedp.CSS("#yes")))
	told("the defaults", "counts with the defaults again")
	p.Do(chromedp.Click(chromedp.CSS("#copy")))
	told("a copy", "has a copy of the default keys now")
	if got := call(t, labSession, "GET", fmt.Sprint(mappingsPath, test), "").body; !strings.Contains(got, `"key":"l"`) || !strings.Contains(got, `"scope":"lab"`) {
		t.Errorf("stored: %s, want the laboratory's copy of both keys", got)
	}
	if errors, foreign := p.Clean(); len(errors) > 0 || len(foreign) > 0 {
		t.Errorf("errors %q, requests elsewhere %q", errors, foreign)
	}
	p.login(editor(t, 12))
	p.visit(fmt.Sprintf("/cell-counter-keys/?test=%d", test), `document.getElementById("scope").textContent.includes("needs the permission")`)
	if got := p.Eval(`document.querySelectorAll("#rows button:not(:disabled), #rows select:not(:disabled), #save button:not([hidden])").length`); got != "0" {
		t.Errorf("%s controls for a login without the permission, want none", got)
	}
}

// keysPage opens the keys of a test of the laboratory: n counts neutrophils, s counts cells that the laboratory counts
// separately.
func keysPage(t *testing.T, test int) page {
	t.Helper()
	seedTest(t, test)
	if saved := call(t, labSession, "POST", fmt.Sprint(mappingsPath, test), `{"lab_id":12,"mappings":[
		{"key":"n","cell_id":1,"report_format_index":1,"report_format_order":1},
		{"key":"s","cell_id":3,"report_format_index":2,"report_format_order":2,"include_in_total":false}]}`); saved.status != http.StatusOK {
		t.Fatalf("%d %s", saved.status, saved.body)
	}
	p := openPage(t, stack.Endpoints.Gateway)
	p.login(labSession)
	p.visit(fmt.Sprintf("/cell-counter-keys/?test=%d", test), `document.querySelectorAll("#rows kbd").length === 2`)
	return p
}

// TestCounterKeysPageKeepsWhatIsCountedApart exchanges two keys. Cells that are counted separately must stay so.
func TestCounterKeysPageKeepsWhatIsCountedApart(t *testing.T) {
	const test = 77032
	p := keysPage(t, test)
	for row, key := range []string{"s", "n"} {
		p.Eval(fmt.Sprintf(`document.querySelector("#rows tr:nth-child(%d) button").click()`, row+1))
		p.Press(key)
	}
	p.Eval(`document.getElementById("save").requestSubmit()`)
	p.Await("the answer", `document.getElementById("told").textContent.includes("Saved.")`)
	got := call(t, labSession, "GET", fmt.Sprint(mappingsPath, test), "").body
	for _, want := range []string{`"key":"s","cell_id":1,"report_format_index":1,"report_format_order":1,"include_in_total":true`,
		`"key":"n","cell_id":3,"report_format_index":2,"report_format_order":2,"include_in_total":false`} {
		if !strings.Contains(got, want) {
			t.Errorf("stored: %s, want %s", got, want)
		}
	}
}

// TestCounterKeysPageRemovesNoKeyThatWasMoved removes a key that another user has moved to another parameter since the
// page was loaded. The key must stay.
func TestCounterKeysPageRemovesNoKeyThatWasMoved(t *testing.T) {
	const test = 77033
	p := keysPage(t, test)
	call(t, labSession, "POST", fmt.Sprint(mappingsPath, test), `{"lab_id":12,"mappings":[
		{"key":"s","cell_id":1,"report_format_index":1,"report_format_order":1},
		{"key":"n","cell_id":3,"report_format_index":2,"report_format_order":2}]}`)
	p.Eval(`document.querySelector("#rows tr:nth-child(1) [data-part=remove]").click()`)
	p.Await("a refusal", `document.getElementById("told").textContent.startsWith("Someone moved the key n to another parameter")`)
	if got := call(t, labSession, "GET", fmt.Sprint(mappingsPath, test), "").body; !strings.Contains(got, `"key":"n","cell_id":3,`) {
		t.Errorf("stored: %s, want the key of the other parameter", got)
	}
}

// administrator is the session of a user who may change every setting.
const administrator = "demo-admin"

// TestCalloutSettingsPageChangesWhatItShows uses the page as an administrator: invalid numbers are reported at their
// field, changes of another user are not overwritten, and other users can only read.
func TestCalloutSettingsPageChangesWhatItShows(t *testing.T) {
	const path = "/operation/critical-callout/settings"
	defer call(t, administrator, "PUT", path, `{}`)
	call(t, administrator, "PUT", path, `{}`)
	p := openPage(t, stack.Endpoints.Gateway)
	p.login(administrator)
	p.visit("/callout/", `document.querySelector("header a.settings") !== null`)
	p.Eval(`document.querySelector("header a.settings").click()`) // not by position, which may change during loading
	p.Await("the values", `document.getElementById("escalate_minutes")?.value === "30" && document.getElementById("remind_hours").value === "8"`)
	p.Pictures("callout-settings")
	submit := func() { p.Eval(`document.getElementById("settings").requestSubmit()`) }
	p.Fill("escalate_minutes", "input", "0")
	p.Fill("remind_hours", "input", "7,5")
	submit()
	p.Await("what is wrong, where it is", `document.getElementById("escalate_minutes-wrong").textContent === "Write a whole number from 1 to 1440." && document.getElementById("remind_hours-wrong").textContent !== "" && document.activeElement.id === "escalate_minutes"`)
	p.Pictures("callout-settings-wrong")
	p.Fill("escalate_minutes", "input", "20")
	p.Fill("remind_hours", "input", "0")
	call(t, administrator, "PUT", path, `{"escalate_most":5}`)
	submit()
	p.Await("someone else's change", `document.getElementById("told").textContent.startsWith("Someone changed the settings meanwhile") && document.getElementById("escalate_most").value === "5"`)
	p.Fill("escalate_minutes", "input", "20")
	p.Eval(`document.getElementById("read_back_needed").click()`)
	submit()
	p.Await("the answer", `document.getElementById("told").textContent === "Saved."`)
	if got := call(t, administrator, "GET", path, ""); !strings.Contains(got.body, `{"escalate_minutes":20,"escalate_most":5,"read_back_needed":false,`) {
		t.Errorf("stored: %s", got.body)
	}
	p.Do(chromedp.Click(chromedp.CSS("#reset")))
	p.Await("a question", `document.getElementById("ask").open`)
	p.Do(chromedp.Click(chromedp.CSS("#yes")))
	p.Await("the defaults", `document.getElementById("told").textContent === "The defaults are in force." && document.getElementById("escalate_minutes").value === "30"`)
	if errors, foreign := p.Clean(); len(errors) > 0 || len(foreign) > 0 {
		t.Errorf("errors %q, requests elsewhere %q", errors, foreign)
	}
	p.login(editor(t, 12))
	p.visit("/callout-settings/", `document.getElementById("told").textContent.startsWith("You can read the settings") && document.getElementById("escalate_minutes").disabled && document.getElementById("buttons").hidden`)
	p.visit("/callout/", `document.querySelector("nav.pages .person") !== null`)
	if got := p.Eval(`document.querySelectorAll("header a.settings").length`); got != "0" {
		t.Error("the board offers the settings to a login that may not change them")
	}
}

// TestNotificationsPageSwitchesTypesForTheLaboratory switches a type off. Users must then have no switch for it.
func TestNotificationsPageSwitchesTypesForTheLaboratory(t *testing.T) {
	p := openPage(t, stack.Endpoints.Gateway)
	p.login(administrator)
	p.visit("/notifications/", `document.querySelectorAll("#kinds input").length === 2 && document.querySelectorAll("#types input").length === 2`)
	if got := p.Eval(`document.getElementById("kinds").textContent`); !strings.Contains(got, "A report of the organisation is ready") || strings.Contains(got, "_") {
		t.Errorf("the laboratory's types: %s, want their names for people", got)
	}
	p.Pictures("notifications-laboratory")
	const first = `document.querySelector("#kinds input")`
	p.Eval(first + ".click()")
	p.Await("it is off", `document.querySelectorAll("#types input").length === 1 && document.getElementById("told").textContent.endsWith(": off.")`)
	p.Eval(first + ".click()")
	p.Await("it is on again", `document.querySelectorAll("#types input").length === 2`)
	p.login(editor(t, 12))
	p.visit("/notifications/", `document.getElementById("state").textContent.startsWith("Up to date") && document.getElementById("kinds").children.length === 2`)
	if got := p.Eval(`document.getElementById("laboratory").hidden`); got != "true" {
		t.Error("the laboratory's switches are shown to a login that may not change them")
	}
}
