package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestBillPageBeginsWithTheBillsOfToday uses the page as a cashier does in the morning. No bill number is typed: the
// list has today's bills, a click opens one, and after its split it is no longer listed.
func TestBillPageBeginsWithTheBillsOfToday(t *testing.T) {
	const id = 91081
	session := editor(t, 12)
	seedBill(t, id, `,"userDetails":[{"id":91081,"labId_id":12,"labPatientId":"P-91081","fullName":"Leela Bhosale","gender":"Female","dateOfBirth":"1990-01-01"}],
		"organization":[{"id":91081,"labId_id":12,"orgFullName":"Sunrise Insurance"}]`)
	db := openMySQL(t)
	exec := func(statement string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec("UPDATE billing SET userDetailsId_id = ?, orgId_id = ? WHERE id = ?", id, id, id)
	p := openPage(t, stack.Endpoints.Gateway)
	p.login(session)
	row := fmt.Sprintf(`[...document.querySelectorAll("#today tbody tr")].find((tr) => tr.textContent.startsWith("Bill %d"))`, id)
	p.visit("/bill/", row+`?.textContent.includes("Leela Bhosale, ") === true`)
	if got := p.Eval(row + `.innerText`); !strings.Contains(got, "Sunrise Insurance") || !strings.Contains(got, "1,125.00") || !strings.Contains(got, "3") {
		t.Errorf("the bill in the list: %s, want its organization, amount and 3 tests", got)
	}
	p.Pictures("bill-today")
	total := p.Eval(`document.querySelector("#today h2").textContent`)
	p.visit("/", fmt.Sprintf(`document.getElementById("bills").textContent === %q`, total))
	p.visit("/bill/", row+" !== undefined")
	p.Eval(row + `.children[1].click()`)
	p.Await("the bill", fmt.Sprintf(`location.search === "?bill=%d" && document.querySelectorAll("#family article").length === 1 && document.getElementById("today").hidden`, id))
	exec("UPDATE billing SET billLocked = 1 WHERE id = ?", id)
	p.Do(chromedp.Click(chromedp.CSS("#back")))
	p.Await("the list without the locked bill", `!document.getElementById("today").hidden && document.querySelector("#today h2")?.textContent.includes("today") && `+row+` === undefined`)
	exec("UPDATE billing SET billTime = billTime - INTERVAL 2 DAY WHERE labId_id = 12")
	defer exec("UPDATE billing SET billTime = billTime + INTERVAL 2 DAY WHERE labId_id = 12")
	p.Eval(`(document.dispatchEvent(new Event("visibilitychange")), "in view again")`)
	p.Await("what to do", `document.querySelector("#today p").textContent.startsWith("No insurance bill of today can be split. For a bill of another day, type")`)
	p.Pictures("bill-today-empty")
	if errors, foreign := p.Clean(); len(errors) > 0 || len(foreign) > 0 {
		t.Errorf("errors %q, requests elsewhere %q", errors, foreign)
	}
}

// TestBillPageGoesBackToTheBillBefore opens two bills in turn. Back must show the first one again without leaving the
// page.
func TestBillPageGoesBackToTheBillBefore(t *testing.T) {
	const first, second = 91084, 91085
	session := editor(t, 12)
	seedBill(t, first)
	seedBill(t, second)
	p := openPage(t, stack.Endpoints.Gateway)
	p.login(session)
	shows := func(id int) string {
		return fmt.Sprintf(`location.search === "?bill=%d" && document.querySelector('#family [data-bill="%d"]') !== null`, id, id)
	}
	p.visit(fmt.Sprintf("/bill/?bill=%d", first), shows(first))
	p.Fill("bill", "input", fmt.Sprint(second))
	p.Eval(`document.getElementById("choose").requestSubmit()`)
	p.Await("the second bill", shows(second))
	p.Eval(`history.back()`)
	p.Await("the first bill again", shows(first))
}

// TestBillPageChoosesFromTwoHundredTests filters the tests, selects all shown ones, sees their sum, and reaches the
// button without scrolling.
func TestBillPageChoosesFromTwoHundredTests(t *testing.T) {
	const id, tests = 91082, 200
	var rows, names []string
	for i := range tests {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"billId_id":%d,"labId_id":12,"testId_id":%d,"testAmount":"10.00"}`, id*1000+i, id, id*1000+i))
		names = append(names, fmt.Sprintf(`{"id":%d,"labId_id":12,"testName":"%s %d"}`, id*1000+i, []string{"Serum", "Urine"}[i%2], i))
	}
	applyFixture(t, fmt.Sprintf(`{"mysql":{"billing":[{"id":%d,"labId_id":12,"labBillId":%d,"orderNumber":"E2E-%d","userDetailsId_id":501,"source":"Insurance",
		"billTotalAmount":"2000.00"}],"billingInfo":[%s],"AllTests":[%s]}}`, id, id, id, strings.Join(rows, ","), strings.Join(names, ",")))
	p := openPage(t, stack.Endpoints.Gateway)
	p.login(labSession)
	p.visit(fmt.Sprintf("/bill/?bill=%d", id), `document.querySelectorAll("#family li").length === 200`)
	p.Fill("filter", "input", "URINE 1")
	const shown = `document.querySelectorAll("#family li:not([hidden])").length`
	if got := p.Eval(shown); got != "56" { // the odd numbers among 1, 11 to 19 and 101 to 199
		t.Errorf("%s tests shown, want 56", got)
	}
	p.Do(chromedp.Click(chromedp.CSS("#select-all")))
	p.Await("the sum and the amounts", `document.getElementById("sum").textContent === "56 of 200 tests chosen: ₹560.00" && !document.getElementById("do").disabled`)
	p.Fill("filter", "input", "Serum 2")
	p.Await("what is chosen stays", `document.getElementById("sum").textContent.startsWith("56 of 200") && !document.getElementById("select-all").checked`)
	p.Pictures("bill-many-tests")
	p.Eval(`(scrollTo(0, 0), "at the top")`)
	if got := p.Eval(`(({top, bottom}) => top >= 0 && bottom <= innerHeight)(document.getElementById("do").getBoundingClientRect())`); got != "true" {
		t.Error("the button is not in view")
	}
	p.Do(chromedp.Click(chromedp.CSS("#do")))
	p.Await("the new bill", `document.getElementById("state").textContent.includes("was created: ₹560.00")`)
}

// TestBillPageShowsABillBeyondJSONNumbers splits a bill while new bills get ids above 2^53. The response has the id as
// text, and the page shows and undoes the split. The test is not parallel, because the bills of all tests would get
// such ids.
func TestBillPageShowsABillBeyondJSONNumbers(t *testing.T) {
	const id = 91083
	seedBill(t, id)
	db := openMySQL(t)
	exec := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	exec("ALTER TABLE billing AUTO_INCREMENT = 9007199254740993")
	defer func() { // resets the ids, and deletes the bills from which other tests would continue counting
		exec("DELETE FROM bill_split_merge WHERE new_bill_id > 9007199254740992")
		exec("DELETE FROM bill_split_audit WHERE new_bill_id > 9007199254740992")
		exec("DELETE FROM billing WHERE id > 9007199254740992")
		exec(fmt.Sprintf("ALTER TABLE billing AUTO_INCREMENT = %d", ownNumbers))
	}()
	p := openPage(t, stack.Endpoints.Gateway)
	p.login(labSession)
	p.visit(fmt.Sprintf("/bill/?bill=%d", id), `document.querySelectorAll("#family article").length === 1`)
	p.Eval(`((real) => { window.fetch = (...of) => real(...of).then(async (r) => { if (of[1].headers?.["Idempotency-Key"]) window.answer = r.status + await r.clone().text(); return r; }); })(window.fetch)`)
	for bills := 2; bills <= 3; bills++ {
		p.Eval(`document.querySelector("#family input").click()`)
		p.Await("what it would mean", `!document.getElementById("do").disabled`)
		p.Do(chromedp.Click(chromedp.CSS("#do")))
		p.Await("a new bill", fmt.Sprintf(`document.querySelectorAll("#family article").length === %d && document.getElementById("state").textContent.includes("was created")`, bills))
	}
	if got := p.Eval("window.answer"); !strings.HasPrefix(got, "200") || !strings.Contains(got, `"new_bill":{"id":null,"id_text":"9007199254740994",`) {
		t.Errorf("split: %s, want 200 with the id as text beside null", got)
	}
	for left := 2; left > 0; left-- {
		p.Eval(`(window.confirm = () => true, [...document.querySelectorAll("#family button")].filter((b) => b.textContent === "Undo this split").at(-1).click())`)
		p.Await("it is undone", fmt.Sprintf(`document.getElementById("state").textContent.includes("is undone") && document.querySelectorAll("#family button").length === %d`, left-1))
	}
	if errors, _ := p.Clean(); len(errors) > 0 {
		t.Errorf("errors %q", errors)
	}
}
