package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestCalloutPageSavesNothingByADoubleClick double-clicks a card that covers the place of the dialog's button for
// attempts.
func TestCalloutPageSavesNothingByADoubleClick(t *testing.T) {
	p, card := openCard(t, 979800)
	p.Eval(`((r) => {
		document.getElementById("close").click();
		` + card + ".style.cssText = `position: fixed; z-index: 9; left: ${r.x}px; top: ${r.y}px; width: ${r.width}px; height: ${r.height}px`" + `;
	})((` + card + `.click(), document.getElementById("attempt").getBoundingClientRect()))`)
	p.Click(card)()
	if got := p.Eval(`document.getElementById("dialog").open && !document.getElementById("attempt").disabled`); got != "true" {
		t.Error("the double click opened the dialog and saved an attempt")
	}
}

// TestCalloutPageRecordsARetryOnce saves an attempt whose response is lost, and saves it again.
func TestCalloutPageRecordsARetryOnce(t *testing.T) {
	const bill = 979810
	p, card := openCard(t, bill)
	p.Eval(card + ".click()")
	p.Eval(`(() => {
		const real = window.fetch;
		window.fetch = async (to, how) => {
			const answer = await real(to, how);
			if (!String(to).endsWith("/critical/callout")) return answer;
			window.fetch = real;
			throw new TypeError("the network was lost");
		};
	})()`)
	p.Eval(`document.getElementById("attempt").click()`)
	p.Await("the loss", `document.getElementById("problem").textContent.startsWith("The server cannot be reached")`)
	p.Eval(`document.getElementById("attempt").click()`)
	p.Await("the attempt", `!document.getElementById("dialog").open && document.getElementById("state").textContent.startsWith("The attempt is saved")`)
	got := call(t, labSession, "GET", fmt.Sprintf("/report/bulk/critical-notification/logs?report_ids=%d", bill+1), "")
	if n := strings.Count(got.body, "attempted: draft saved"); n != 1 {
		t.Errorf("%d attempts are recorded, want 1: %s", n, got.body)
	}
}

// openCard opens the board with a new critical result and returns its card.
func openCard(t *testing.T, bill int) (p page, card string) {
	t.Helper()
	newCriticalBill(t, bill, 0, 3)
	if got := evaluateBill(t, bill); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	p, card = openPage(t, stack.Endpoints.Gateway), fmt.Sprintf(boardCard, bill+1)
	p.board(labSession)
	p.Await("the result", card+" !== null")
	return p, card
}
