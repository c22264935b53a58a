/// People with a department, which has a location: a hundred people to a department, ten departments to a location.
protocol StaffEngine: AnyObject {
    static var name: String { get }

    init(directory: String) throws

    func fill(_ count: Int) throws
    /// Fetches the first people and retains them, without their departments.
    func hold(_ count: Int) throws
    /// Follows the references from each of them to the floors of the location.
    func traverseHeld() throws -> UInt64
    /// Fetches all people with department and location and follows the same references.
    func fetchWithLocations() throws -> UInt64
    func close() throws
}

/// An engine whose objects cache the references that they have followed.
protocol KeepingStaffEngine: StaffEngine {
    /// Counts the retained objects whose department, which was read before, is not nil, in repeated rounds.
    func countDepartments(rounds: Int) -> UInt64
}

enum Staff {
    static func department(of person: Int, among departments: Int) -> Int {
        1 + Int(Mixer.mix(UInt64(person)) % UInt64(departments))
    }
    static func departments(_ count: Int) -> Int { max(count / 100, 10) }
    static func locations(_ count: Int) -> Int { max(count / 1000, 1) }

    static let schema = [
        "CREATE TABLE location (id INTEGER PRIMARY KEY, name TEXT NOT NULL, floors INTEGER NOT NULL)",
        """
        CREATE TABLE department (id INTEGER PRIMARY KEY, name TEXT NOT NULL,
            location INTEGER NOT NULL REFERENCES location(id))
        """,
        """
        CREATE TABLE staff (id INTEGER PRIMARY KEY, name TEXT NOT NULL, age INTEGER NOT NULL,
            department INTEGER NOT NULL REFERENCES department(id))
        """,
        "CREATE INDEX department_location ON department (location)",
        "CREATE INDEX staff_department ON staff (department)",
    ]
}
