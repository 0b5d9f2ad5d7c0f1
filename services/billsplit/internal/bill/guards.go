package bill

// Guard is a table whose rows prevent the split of a bill, because another part of the platform depends on the bill.
type Guard struct {
	Table  string
	Label  string // meaning of the rows, and the next step for the user
	PerRow bool   // rows may name a billed test instead of the bill
}

// LinkTable is the guarded table of linked health records (ABDM). Another check covers it as well.
const LinkTable = "patient_linked_bill"

var guards = []Guard{
	{Table: "finance_insurance_claim", Label: "Insurance claim: withdraw the claim first"},
	{Table: "finance_bill_claim_relation", Label: "Bill in an insurance claim: take the bill out of the claim first"},
	{Table: "finance_claim_test_relation", PerRow: true,
		Label: "Test in an insurance claim: take the test out of the claim first"},
	{Table: "finance_claim_provider_info", Label: "Claim sent to an insurance provider: withdraw it first"},
	{Table: "patient_home_collection", Label: "Home collection: cancel or unlink the visit first"},
	{Table: "patient_emr_appointments", Label: "Appointment of a medical record system: unlink it first"},
	{Table: "payments_payment_gateway_transactions", Label: "Online payment: wait for it or refund it first"},
	{Table: "crm_kit", Label: "Sample kit: unlink the kit first"},
	{Table: "integration_shipping_details", Label: "Shipment: unlink the shipment first"},
	{Table: LinkTable, Label: "Linked health record (ABDM): a linked bill cannot be split"},
	{Table: "account_processed_file", Label: "Bill in a processed accounting file: reverse the entry first"},
	{Table: "patient_b2b_patient", Label: "Order of a partner laboratory: split it where it was ordered"},
	{Table: "integration_test_clinical_info", PerRow: true,
		Label: "Clinical information sent by an integration: remove it first"},
	{Table: "finance_bill_classifier_tags", Label: "Tags of the bill: remove the tags first"},
}

// Guards returns the guarded tables in the documented order.
func Guards() []Guard { return guards }

// freeAttachments are the categories of attachments that do not prevent a split: reports are created again, and images
// belong to the patient.
var freeAttachments = map[string]bool{SmartReport: true, "image": true}

// SmartReport is the category of reports that are created from a bill's results. A split makes them outdated.
const SmartReport = "smart_report"
