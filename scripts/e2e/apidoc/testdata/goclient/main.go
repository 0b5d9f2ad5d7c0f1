// Command client schedules a message and uploads an edited report with the client that oapi-codegen generates.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"strconv"

	"client/rest"
)

func main() {
	base, session, token, when, word, pdf := os.Args[1], os.Args[2], os.Args[4], os.Args[5], os.Args[6], os.Args[7]
	editID, err := strconv.ParseInt(os.Args[3], 10, 64)
	check(err)
	api := connect(base, "Cookie", "sessionid="+session)
	ctx := context.Background()

	scheduled, err := api.TaskQueueServiceScheduleWithResponse(ctx, nil, []rest.LabTaskqueueV1ScheduledTask{message(when)})
	check(err)
	fmt.Println("scheduled", scheduled.JSON200.JobIds[0])

	kind, body := form(map[string]string{"word_file": word, "pdf_file": pdf})
	holder := connect(base, "Authorization", "Bearer "+token)
	saved, err := holder.ExternalEditServiceUploadFilesWithBodyWithResponse(ctx, editID, nil, kind, body)
	check(err)
	fmt.Println("uploaded", saved.JSON200.WordS3Path)
}

func message(when string) (task rest.LabTaskqueueV1ScheduledTask) {
	var contact rest.LabTaskqueueV1SMSData_Contact
	check(contact.FromLabTaskqueueV1SMSDataContact1("+919812345678"))
	check(task.FromLabTaskqueueV1ScheduledSMSTask(rest.LabTaskqueueV1ScheduledSMSTask{SchTime: when, Task: 1, TaskType: 7,
		Data: rest.LabTaskqueueV1SMSData{Contact: contact, Message: "Hello"}}))
	return task
}

func connect(base, header, value string) *rest.ClientWithResponses {
	api, err := rest.NewClientWithResponses(base, rest.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set(header, value)
		return nil
	}))
	check(err)
	return api
}

var types = map[string]string{
	"word_file": "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "pdf_file": "application/pdf",
}

func form(files map[string]string) (kind string, body io.Reader) {
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	for name, path := range files {
		content, err := os.ReadFile(path)
		check(err)
		part, err := w.CreatePart(textproto.MIMEHeader{"Content-Type": {types[name]},
			"Content-Disposition": {fmt.Sprintf("form-data; name=%q; filename=%q", name, path)}})
		check(err)
		_, err = part.Write(content)
		check(err)
	}
	check(w.Close())
	return w.FormDataContentType(), &out
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
