package volume

// name is a given name and its usual gender.
type name struct{ text, gender string }

func givenNames() []name {
	names := make([]name, 0, 96)
	for _, text := range []string{"Rahul", "Amit", "Suresh", "Vijay", "Arjun", "Karthik", "Manoj", "Deepak", "Sanjay", "Rohit",
		"Imran", "Salman", "Yusuf", "Gurpreet", "Harjit", "Joseph", "Thomas", "Anand", "Vikram", "Prakash", "Ganesh", "Naveen",
		"Ashok", "Ramesh", "Mahesh", "Dinesh", "Nitin", "Sachin", "Aarav", "Vihaan", "Kabir", "Ishaan", "Debashish", "Subrata",
		"Murugan", "Senthil", "Venkatesh", "Srinivas", "Harish", "Kiran", "Pranav", "Tejas", "Yash", "Omkar", "Farhan", "Ravi"} {
		names = append(names, name{text, "Male"})
	}
	for _, text := range []string{"Sunita", "Anita", "Priya", "Kavita", "Meera", "Lakshmi", "Ananya", "Divya", "Pooja", "Neha",
		"Fatima", "Ayesha", "Zainab", "Simran", "Jasleen", "Mary", "Liya", "Radha", "Geeta", "Sita", "Rekha", "Shalini", "Swati",
		"Sneha", "Aishwarya", "Bhavana", "Chitra", "Deepa", "Gayatri", "Indira", "Jyoti", "Kamala", "Madhuri", "Nandini", "Padma",
		"Rukmini", "Sarita", "Tara", "Uma", "Vidya", "Yamini", "Ishita", "Diya", "Myra", "Saanvi", "Revathi"} {
		names = append(names, name{text, "Female"})
	}
	return names
}

func familyNames() []string {
	return []string{"Sharma", "Patil", "Kulkarni", "Deshpande", "Joshi", "Iyer", "Iyengar", "Nair", "Menon", "Pillai", "Reddy",
		"Rao", "Naidu", "Gowda", "Shetty", "Hegde", "Khan", "Shaikh", "Ansari", "Qureshi", "Singh", "Kaur", "Gill", "Sandhu",
		"Chatterjee", "Banerjee", "Mukherjee", "Das", "Ghosh", "Bose", "Dutta", "Gupta", "Agarwal", "Mittal", "Jain", "Mehta",
		"Shah", "Patel", "Desai", "Trivedi", "Bhatt", "Pandey", "Mishra", "Tiwari", "Dubey", "Yadav", "Verma", "Saxena",
		"Srivastava", "Chauhan", "Rathore", "Thakur", "Negi", "Rawat", "Fernandes", "D'Souza", "Mathew", "Kurian", "Varghese",
		"George", "Jadhav", "Shinde", "Pawar", "More", "Gaikwad", "Kamble", "Chavan", "Bhosale", "Murugan", "Subramanian",
		"Krishnan", "Raman", "Sundaram", "Natarajan", "Prasad", "Sinha", "Jha", "Mahto", "Barua", "Borah", "Gogoi", "Lepcha"}
}

func testNames() [testsPerLab]string {
	return [testsPerLab]string{"Complete Blood Count", "Fasting Blood Glucose", "Lipid Profile", "Liver Function Test",
		"Kidney Function Test", "Thyroid Profile", "HbA1c", "Vitamin D"}
}
