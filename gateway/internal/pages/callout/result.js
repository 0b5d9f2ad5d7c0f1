// Texts about results that the board and its dialog share.
export const valueText = (p) => `${p.parameter_name} ${p.raw_value}${p.unit ? " " + p.unit : ""}`;
export const patientOf = (one) => (one.lab_patient_id ? `${one.patient_name} (${one.lab_patient_id})` : one.patient_name);
export const departmentOf = (one) => one.department_name || "Other";
