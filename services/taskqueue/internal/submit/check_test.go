package submit_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/submit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

type targets struct{}

func (targets) CheckPublic(raw string) error {
	if strings.Contains(raw, "bad") {
		return errors.New("refused")
	}
	return nil
}

func (targets) IsInternal(u *url.URL) bool { return u.Host == "gateway:8091" }

func checks() *submit.Checks {
	return &submit.Checks{Targets: targets{}, Known: func(_ job.Channel, name string) bool { return name == "outbox" }, Serves: func(c job.Channel, _ int) bool { return c != job.Mapping },
		Clock: clock.Fixed(time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)), Country: 91}
}

func user() task.Caller { return task.Caller{LabID: 12, Name: "user:77"} }

// never marks a task that has no time and must have none.
const never = "never"

// check validates a task of a user.
func check(index int, s task.Submission) (submit.Planned, []apperr.Field) {
	return checks().Check(index, s, s.Due == never, user())
}

// TestEveryDocumentedPairHasItsDefaultPriority compares the catalogue with the documented table, which is repeated
// here.
func TestEveryDocumentedPairHasItsDefaultPriority(t *testing.T) {
	t.Parallel()
	const sms = `{"contact":919812345678,"message":"hi"}`
	const email = `{"to":["a@b.example"],"message":"<p>hi</p>"}`
	const push = `{"topic":"news","title":"t"}`
	const hook = `{"url":"https://a.example/"}`
	const whatsApp = `{"contact":"9812345678","template":"welcome"}`
	want := map[int]struct {
		data       string
		priorities []job.Priority
	}{
		1: {sms, []job.Priority{2, 0, 1, 1, 1, 0, 2}},
		2: {email, []job.Priority{1, 1, 1, 0, 0, 0}},
		3: {push, []job.Priority{1, 1, 1, 0, 0, 2}},
		4: {hook, []job.Priority{1, 1, 1, 1}},
		6: {whatsApp, []job.Priority{1, 1}},
	}
	for number := -1; number < 8; number++ {
		for taskType := 0; taskType < 9; taskType++ {
			row := want[number]
			p, fields := check(0, task.Submission{Due: never, Task: number, Type: taskType, Data: []byte(row.data)})
			exists := taskType >= 1 && taskType <= len(row.priorities)
			if exists != (len(fields) == 0) {
				t.Errorf("task %d type %d: %v", number, taskType, fields)
			}
			if exists && p.Lane.Priority != row.priorities[taskType-1] {
				t.Errorf("task %d type %d has priority %d", number, taskType, p.Lane.Priority)
			}
		}
	}
}

func TestWrongFieldsAreNamed(t *testing.T) {
	t.Parallel()
	hook := func(extra string) task.Submission {
		return task.Submission{Due: never, Task: 4, Type: 2, Data: []byte(`{"url":"https://a.example/"` + extra + `}`)}
	}
	with := func(edit func(*task.Submission)) task.Submission {
		s := hook("")
		edit(&s)
		return s
	}
	data := func(number, taskType int, data string) task.Submission {
		return task.Submission{Due: never, Task: number, Type: taskType, Data: []byte(data)}
	}
	at := func(s task.Submission, due string) task.Submission {
		s.Due = due
		return s
	}
	for name, c := range map[string]struct {
		s     task.Submission
		wrong []string
	}{
		"good":                      {hook(`,"args":{"a":1},"timeout":300,"callback":1,"callback_url":"https://a.example/cb"`), nil},
		"retry 10 is allowed":       {with(func(s *task.Submission) { s.Retry = new(10) }), nil},
		"retry 11 is not":           {with(func(s *task.Submission) { s.Retry = new(11) }), []string{"retry"}},
		"retry -1 is not":           {with(func(s *task.Submission) { s.Retry = new(-1) }), []string{"retry"}},
		"priority 3":                {with(func(s *task.Submission) { s.Priority = new(3) }), []string{"override_priority"}},
		"a long tag":                {with(func(s *task.Submission) { s.LogTag = strings.Repeat("x", 129) }), []string{"log_tag"}},
		"a bad subscriber":          {with(func(s *task.Submission) { s.Subscribe, s.OnFailure = "bad", "bad" }), []string{"subscribe", "failed_task_handler"}},
		"a time with a zone":        {with(func(s *task.Submission) { s.Due = "2026-11-20T10:00:00+05:30" }), []string{"sch_time"}},
		"a time with a Z":           {with(func(s *task.Submission) { s.Due = "2026-11-20T10:00:00Z" }), nil},
		"a time too far ahead":      {with(func(s *task.Submission) { s.Due = "2027-11-22T10:00:00" }), []string{"sch_time"}},
		"a missing time":            {with(func(s *task.Submission) { s.Due = "" }), []string{"sch_time"}},
		"an impossible date":        {with(func(s *task.Submission) { s.Due = "2026-02-30T10:00:00" }), []string{"sch_time"}},
		"a header with a newline":   {with(func(s *task.Submission) { s.Headers = map[string]string{"X": "a\r\nY: b"} }), []string{"headers"}},
		"a header with a colon":     {hook(`,"headers":{"X:":"a"}`), []string{"headers"}},
		"no url":                    {data(4, 1, `{}`), []string{"data.url"}},
		"a bad url":                 {data(4, 1, `{"url":"https://bad/"}`), []string{"data.url"}},
		"an internal url":           {data(4, 1, `{"url":"http://gateway:8091/x"}`), []string{"data.url"}},
		"an internal callback":      {with(func(s *task.Submission) { s.OnSuccess = "http://gateway:8091/x" }), []string{"success_task_handler"}},
		"timeout 0":                 {hook(`,"timeout":0`), []string{"data.timeout"}},
		"timeout 301":               {hook(`,"timeout":301`), []string{"data.timeout"}},
		"args is a list":            {hook(`,"args":[1]`), []string{"data.args"}},
		"callback without its url":  {hook(`,"callback":1`), []string{"data.callback_url"}},
		"data is a list":            {data(4, 1, `[]`), []string{"data"}},
		"data is missing":           {data(4, 1, ``), []string{"data"}},
		"data has a wrong type":     {data(4, 1, `{"url":5}`), []string{"data.url"}},
		"data is too large":         {hook(`,"args":{"a":"` + strings.Repeat("x", 64<<10) + `"}`), []string{"data"}},
		"sms without contact":       {data(1, 1, `{"message":"x"}`), []string{"data.contact"}},
		"sms without message":       {data(1, 1, `{"contact":9812345678}`), []string{"data.message"}},
		"sms to a word":             {data(1, 1, `{"contact":"call me","message":"x"}`), []string{"data"}},
		"sms by unknown provider":   {data(1, 1, `{"contact":9812345678,"message":"x","config":{"provider":"p"}}`), []string{"data.config.provider"}},
		"sms by the outbox":         {data(1, 1, `{"contact":9812345678,"message":"x","config":{"provider":"outbox"}}`), nil},
		"a long password":           {data(1, 1, `{"contact":9812345678,"message":"`+strings.Repeat("x", 1<<10)+`"}`), []string{"data"}},
		"a long sms":                {data(1, 2, `{"contact":9812345678,"message":"`+strings.Repeat("x", 1<<10)+`"}`), nil},
		"a password in two hours":   {at(data(1, 1, `{"contact":9812345678,"message":"x"}`), "2026-11-20T12:00:00"), []string{"sch_time"}},
		"a password in an hour":     {at(data(1, 1, `{"contact":9812345678,"message":"x"}`), "2026-11-20T11:00:00"), nil},
		"sms with country_code":     {data(1, 1, `{"contact":9812345678,"country_code":49,"message":"x"}`), []string{"data.country_code"}},
		"sms with a capital":        {data(1, 1, `{"Contact":9812345678,"message":"x"}`), []string{"data.Contact"}},
		"sms with a note":           {data(1, 1, `{"contact":9812345678,"message":"x","note":"y"}`), nil},
		"sms to a landline":         {data(1, 1, `{"contact":2224567890,"message":"x"}`), []string{"data.contact"}},
		"sms to the mailbox":        {data(1, 1, `{"contact":"0000000001","message":"x"}`), []string{"data.contact"}},
		"sms to another country":    {data(1, 1, `{"contact":"+447911123456","countryCode":91,"message":"x"}`), []string{"data.contact"}},
		"sms to no country":         {data(1, 1, `{"contact":9812345678,"countryCode":999,"message":"x"}`), []string{"data.contact"}},
		"sms to no telephone":       {data(1, 1, `{"contact":1234,"message":"x"}`), []string{"data.contact"}},
		"whatsapp to a landline":    {data(6, 1, `{"contact":"+91 22 2456-7890","message":"x"}`), nil},
		"email to no one":           {data(2, 1, `{"message":"x"}`), []string{"data.to"}},
		"email to a word":           {data(2, 1, `{"to":["x"],"message":"x"}`), []string{"data.to"}},
		"a template that is absent": {data(2, 5, `{"to":["a@b.example"],"message":"x","is_template":1}`), []string{"data.template"}},
		"an email with a bad file":  {data(2, 6, `{"to":["a@b.example"],"message":"x","files":["bad"]}`), []string{"data.files"}},
		"args longer than a URL":    {data(4, 1, `{"url":"https://a.example/","args":{"a":"`+strings.Repeat("x", 3<<10)+`"}}`), []string{"data.args"}},
		"long args in a body":       {hook(`,"args":{"a":"` + strings.Repeat("x", 3<<10) + `"}`), nil},
		"a date never set":          {with(func(s *task.Submission) { s.Due = "0001-01-01T00:00:00" }), []string{"sch_time"}},
		"the first second of Unix":  {with(func(s *task.Submission) { s.Due = "1970-01-01T00:00:00" }), []string{"sch_time"}},
		"an hour ago":               {with(func(s *task.Submission) { s.Due = "2026-11-20T09:00:00" }), nil},
		"push to an empty token":    {data(3, 1, `{"title":"x","tokens":["a"," "]}`), []string{"data.tokens"}},
		"push to no topic's name":   {data(3, 1, `{"title":"x","topic":"lab 12"}`), []string{"data.topic"}},
		"an empty parameter":        {data(6, 1, `{"contact":9812345678,"template":"t","params":["a",""]}`), []string{"data.params"}},
		"a parameter of two lines":  {data(6, 1, `{"contact":9812345678,"template":"t","params":["a\nb"]}`), []string{"data.params"}},
		"push to no one":            {data(3, 1, `{"title":"x"}`), []string{"data.tokens"}},
		"push to both":              {data(3, 1, `{"title":"x","topic":"t","tokens":["a"]}`), []string{"data.tokens"}},
		"push of nothing":           {data(3, 1, `{"topic":"t"}`), []string{"data.title"}},
		"push of a wrong priority":  {data(3, 1, `{"topic":"t","title":"x","priority":"urgent"}`), []string{"data.priority"}},
		"whatsapp of nothing":       {data(6, 1, `{"contact":9812345678}`), []string{"data.message"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, fields := check(3, c.s)
			var got []string
			for _, f := range fields {
				got = append(got, f.Name)
				if f.Index != 3 || f.Message == "" {
					t.Errorf("field %+v", f)
				}
			}
			if diff := cmp.Diff(c.wrong, got); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

func TestServicesMayNameInternalOrigins(t *testing.T) {
	t.Parallel()
	s := task.Submission{Task: 4, Type: 2, Data: []byte(`{"url":"http://gateway:8091/x"}`), Headers: map[string]string{"a": "1"}}
	p, fields := checks().Check(0, s, true, task.Caller{Name: "service:rerun", Internal: true})
	if len(fields) > 0 || !p.Body.Internal || string(p.Body.Headers) != `{"a":"1"}` || p.Body.Retry != 3 {
		t.Errorf("%+v, %v", p, fields)
	}
}

func TestHeadersOfDataWinAndReservedOnesAreDropped(t *testing.T) {
	t.Parallel()
	merged, problem := task.MergeHeaders(map[string]string{"X-A": "outer", "Host": "h", "x-is-internal-request": "True"}, map[string]string{"x-a": "data", "TE": "x"})
	if diff := cmp.Diff(map[string]string{"x-a": "data"}, merged); diff != "" || problem != "" {
		t.Errorf("%s %s", diff, problem)
	}
	many := map[string]string{}
	for i := range 21 {
		many["X-"+string(rune('a'+i))] = "v"
	}
	if _, problem := task.MergeHeaders(many, nil); problem == "" {
		t.Error("21 headers were accepted")
	}
	if _, problem := task.MergeHeaders(map[string]string{"X": strings.Repeat("v", 8<<10)}, nil); problem == "" {
		t.Error("more than 8 KiB of headers were accepted")
	}
}

// TestOnlyCriticalNoticesAreUrgent submits a report's push as every kind of caller and with each part of the rule
// changed. Only critical notices of the notification service may be urgent.
func TestOnlyCriticalNoticesAreUrgent(t *testing.T) {
	t.Parallel()
	const push = `{"topic":"news","title":"t"}`
	notifications := task.Caller{LabID: 12, Name: "service:notifications", Internal: true}
	notice := func(change func(*task.Submission)) task.Submission {
		s := task.Submission{Task: 3, Type: 1, Data: []byte(push), Priority: new(2)}
		change(&s)
		return s
	}
	same := func(*task.Submission) {}
	at := func(d time.Duration) func(*task.Submission) {
		return func(s *task.Submission) {
			s.Due = checks().Clock.Now().Add(d).Format(task.TimeLayout)
		}
	}
	for name, c := range map[string]struct {
		caller task.Caller
		change func(*task.Submission)
		want   job.Flow
	}{
		"a critical notice":       {notifications, same, job.UrgentFlow(12)},
		"within the hour":         {notifications, at(time.Hour), job.UrgentFlow(12)},
		"a user":                  {user(), same, job.LabFlow(12)},
		"the core":                {task.Caller{LabID: 12, Name: "service:core", Internal: true}, same, job.LabFlow(12)},
		"a user of the same name": {task.Caller{LabID: 12, Name: "service:notifications"}, same, job.LabFlow(12)},
		"no caller":               {task.Caller{LabID: -1, Name: "anonymous"}, same, job.LabFlow(-1)},
		"the default priority":    {notifications, func(s *task.Submission) { s.Priority = nil }, job.LabFlow(12)},
		"a campaign":              {notifications, func(s *task.Submission) { s.Type = 4 }, job.LabFlow(12)},
		"a reminder":              {notifications, func(s *task.Submission) { s.Type = 6 }, job.LabFlow(12)},
		"tomorrow":                {notifications, at(24 * time.Hour), job.LabFlow(12)},
		"more than a push can have": {notifications, func(s *task.Submission) {
			s.Data = []byte(`{"topic":"news","title":"` + strings.Repeat("t", 4<<10) + `"}`)
		}, job.LabFlow(12)},
		"a password of a user": {user(), func(s *task.Submission) {
			s.Task, s.Data = 1, []byte(`{"contact":9812345678,"countryCode":91,"message":"1234"}`)
		}, job.OTPFlow(12)},
	} {
		s := notice(c.change)
		p, fields := checks().Check(0, s, s.Due == "", c.caller)
		if len(fields) > 0 || p.Body.Flow != c.want {
			t.Errorf("%s: flow %d, %v; want flow %d", name, p.Body.Flow, fields, c.want)
		}
	}
}

// TestTheCountryOfANumberIsDecidedWhenItsTaskIsAccepted checks that a number without a calling code gets the default
// country of the time of acceptance, whatever the setting is when it is sent. Without a default it could belong to
// several countries: with a plus, 9812345678 is a number in Iran.
func TestTheCountryOfANumberIsDecidedWhenItsTaskIsAccepted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fallback int
		data     string
		want     string // "": refused
	}{
		{91, `{"contact":9812345678,"message":"x"}`, "+919812345678"},
		{91, `{"contact":919812345678,"message":"x"}`, "+919812345678"},
		{91, `{"contact":"\u002b447911123456","message":"x"}`, "+447911123456"},
		{91, `{"contact":7911123456,"countryCode":44,"message":"x"}`, "+447911123456"},
		{0, `{"contact":"+91 98123 45678","message":"x"}`, "+919812345678"},
		{0, `{"contact":"00919812345678","message":"x"}`, "+919812345678"},
		{0, `{"contact":9812345678,"countryCode":"+091","message":"x"}`, ""}, // a calling code has only digits
		{0, `{"contact":9812345678,"message":"x"}`, ""},
		{0, `{"contact":919812345678,"message":"x"}`, ""},
		{1, `{"contact":9812345678.5,"message":"x"}`, ""},
	} {
		checks := checks()
		checks.Country = c.fallback
		planned, wrong := checks.Check(0, task.Submission{Task: 1, Type: 3, Data: []byte(c.data)}, true, user())
		if (len(wrong) > 0) != (c.want == "") {
			t.Errorf("default %d, %s: %v, want %q", c.fallback, c.data, wrong, c.want)
			continue
		}
		var stored task.SMS
		if c.want == "" {
			continue
		}
		data := task.WithRecipient(planned.Body.Data, planned.Recipient())
		if err := json.Unmarshal(data, &stored); err != nil {
			t.Fatal(err)
		}
		if earlier := "+" + string(stored.CountryCode) + string(stored.Contact); earlier != c.want { // read by release 1.0.0
			t.Errorf("default %d, %s: stored as %s, which is %s to an earlier release; want %s", c.fallback, c.data, data, earlier, c.want)
		}
		if to, err := stored.Accepted(); err != nil || to.E164() != c.want {
			t.Errorf("default %d, %s: sent to %s, %v; want %s", c.fallback, c.data, to.E164(), err, c.want)
		}
	}
}
