package e2e

import (
	"fmt"
	"net/http"
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
