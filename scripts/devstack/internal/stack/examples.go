package stack

import (
	"io"
	"text/template"

	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
	"github.com/labplatform/labplatform/scripts/devstack/internal/settings"
)

const examples = `Requests to copy and paste. The cookie is sessionid=demo-lab-user (8 hours; a new start renews it).

  # an analyser's values, all three critical for this patient: a rerun is queued
  curl -s -b sessionid=demo-lab-user -H 'content-type: application/json' {{.Gateway}}/api-v3/sample-rerun/7001/auto \
    -d '{"device_data":[{"index":1,"value":"6.1"},{"index":3,"value":"31.5"},{"index":12,"value":"18"}]}'

  # a moment later the task queue has posted the request: the rerun is open and waits for the analyser
  curl -s -b sessionid=demo-lab-user {{.Gateway}}/api-v3/sample-rerun/7001

  # a message that no provider sends, and the outcome of its job
  JOB=$(curl -s -b sessionid=demo-lab-user -H 'content-type: application/json' {{.Gateway}}/queue/ \
    -d '[{"task":1,"task_type":4,"data":{"contact":9876543210,"countryCode":91,"message":"Your report is ready."}}]' \
    | grep -o '"job_ids":\["[^"]*' | cut -d'"' -f4)
  curl -s -b sessionid=demo-lab-user -H 'content-type: application/json' {{.Gateway}}/jobInfo/ -d "{\"id\":\"$JOB\"}"

  # the message itself, as the provider would have got it
  {{.TaskqueueOutbox}}

  # an insurance bill: what moving its liver profile (8032 and its three tests) to a new bill would mean, then the split
  curl -s -b sessionid=demo-lab-user -H 'content-type: application/json' {{.Gateway}}/api-v3/finance/bill/split/9011 \
    -d '{"test_ids":[8032],"new_source":"Self Pay","is_calculate":true}'
  curl -s -b sessionid=demo-lab-user -H 'content-type: application/json' -H 'idempotency-key: demo-9011' \
    {{.Gateway}}/api-v3/finance/bill/split/9011 -d '{"test_ids":[8032],"new_source":"Self Pay"}'

  # both bills and their sums
  curl -s -b sessionid=demo-lab-user {{.Gateway}}/api-v3/finance/bill/split/9011/family

  # a critical potassium waits for a call; on the wall: {{.Gateway}}/callout/
  curl -s -b sessionid=demo-lab-user {{.Gateway}}/report/9005/critical/records

  # someone calls, and the values are read back; the history shows it
  curl -s -b sessionid=demo-lab-user -H 'content-type: application/json' {{.Gateway}}/report/9005/critical/callout \
    -d '{"lab_report_ids":[7009],"recipients":["Referral Doctor"],"communication_methods":["call"],"read_back":true,"notified_person":"Dr Arvind Rao"}'
  curl -s -b sessionid=demo-lab-user '{{.Gateway}}/report/bulk/critical-notification/logs?report_ids=7009'

  # keys for the blood count, then the counting page: {{.Gateway}}/cell-counter/?test=55
  curl -s -b sessionid=demo-lab-user -H 'content-type: application/json' {{.Gateway}}/api-v3/cell-counter-mappings/55 \
    -d '{"lab_id":12,"mappings":[{"key":"n","cell_id":1,"report_format_index":9,"report_format_order":9},{"key":"l","cell_id":3,"report_format_index":10,"report_format_order":10}]}'

  # a report edited as a Word document: open a session, see who holds it, follow its events (Ctrl-C ends that)
  curl -s -b sessionid=demo-lab-user -H 'content-type: application/json' {{.Gateway}}/api-v3/report/external-edit/7001 \
    -d '{"template_id":1,"word_s3_filepath":"templates/report.docx"}'
  curl -s -b sessionid=demo-lab-user {{.Gateway}}/api-v3/report/external-edit/7001
  curl -s -N -b sessionid=demo-lab-user {{.Gateway}}/api-v3/report/external-edit/7001/events

  # the same with the desktop application's stand-in: edit and save the file that it names, Ctrl-C ends the session
  LAB_SESSION=demo-lab-user go run ./scripts/agent --base {{.Gateway}} --stand-in-pdf --report 7002 --dir /tmp/report-7002

  # what the organization is told
  curl -s -b sessionid=demo-organization {{.Gateway}}/api-v3/notifications/all
{{- if .Search}}

  # a patient, by a part of the name; a typing error, a telephone's last digits and a sample's number work as well; as someone types:
  # {{.Gateway}}/search/
  curl -s -b sessionid=demo-lab-user -H 'content-type: application/json' {{.Gateway}}/api/v1/users/search -d '{"query":"rahul sha"}'
{{- end}}
`

// Examples prints requests to try with the demo laboratory of the running stack.
func Examples(s settings.Settings, out io.Writer) error {
	running, err := endpoints.Read(s.Dir)
	if err != nil {
		return err
	}
	return template.Must(template.New("examples").Parse(examples)).Execute(out, running)
}
