package e2e

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// everyPage returns all pages by the folder of the gateway's page, or by name: an address with some content, and an
// expression that is true once it is shown. Package capture tests the search and the command box with results, because
// they need change capture.
func everyPage() map[string]struct{ address, ready string } {
	gateway := stack.Endpoints.Gateway
	return map[string]struct{ address, ready string }{
		"landing":         {gateway + "/", `document.getElementById("bills").textContent !== ""`},
		"calloutsettings": {gateway + "/callout-settings/", `document.getElementById("escalate_minutes").value !== ""`},
		"cellcounterkeys": {gateway + "/cell-counter-keys/?test=55", `document.querySelectorAll("#rows tr").length > 0`},
		"bill":            {gateway + "/bill/?bill=9011", `document.querySelector("#family article") !== null`},
		"callout":         {gateway + "/callout/", `document.getElementById("state").textContent.startsWith("Up to date")`},
		"cellcounter":     {gateway + "/cell-counter/?test=55", `document.querySelector("#message").textContent !== ""`},
		"externaledit":    {gateway + "/external-edit/?report=7001", `document.getElementById("held").textContent !== ""`},
		"notifications":   {gateway + "/notifications/", `document.querySelector("#list li") !== null`},
		"search":          {gateway + "/search/", `document.querySelector("nav.pages .person") !== null`},
		"queue":           {stack.Endpoints.TaskqueueAdminPage, `!document.getElementById("login").hidden`},
		"outbox":          {stack.Endpoints.TaskqueueOutbox, `document.getElementById("status").textContent !== ""`},
	}
}

// TestEveryPageIsAccessibleOnEveryScreen checks each page and each of its dialogs, light and dark, on the screens of
// browser.Pictures.
func TestEveryPageIsAccessibleOnEveryScreen(t *testing.T) {
	pages := everyPage()
	folders, err := os.ReadDir("../../gateway/internal/pages")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if _, listed := pages[folder.Name()]; folder.IsDir() && !listed {
			t.Errorf("the page %s is not in everyPage: add its address and what it shows", folder.Name())
		}
	}
	p := openPage(t, stack.Endpoints.Gateway)
	p.login(labSession)
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		page := pages[name]
		p.Do(chromedp.Navigate(page.address))
		p.Await(name, page.ready)
		p.Pictures("page-" + name)
		if n := p.Eval(`document.querySelectorAll("input[type=number], input[type=time]").length`); n != "0" {
			t.Errorf("%s has %s fields that a wheel changes, or that show twelve hours", name, n)
		}
		const dialogs = `document.querySelectorAll("dialog")`
		for _, id := range strings.Fields(p.Eval(`[...` + dialogs + `].map((d) => d.id).join(" ")`)) {
			dialog := `document.getElementById("` + id + `")`
			p.Eval(dialog + `.showModal()`)
			p.Eval(`[...` + dialog + `.querySelectorAll("button, h2")].filter((e) => !e.textContent).forEach((e) => { e.textContent = "text of a script"; })`)
			p.Pictures("page-" + name + "-" + id)
			p.Eval(dialog + `.close()`)
		}
	}
}
