/// Parents and children, three children to a parent on the average; each child refers to its parent by an indexed column.
protocol FamilyEngine: AnyObject {
    static var name: String { get }

    init(directory: String) throws

    func fill(_ parents: Int) throws
    /// The sum of the ids of those parents that have more than three children.
    func parentsOfMany() throws -> UInt64
    func close() throws
}

enum Family {
    static func children(_ parents: Int) -> Int { parents * 3 }
    static func parent(of child: Int, among parents: Int) -> Int { 1 + Int(Mixer.mix(UInt64(child)) % UInt64(parents)) }
    static func name(of parent: Int) -> String { "parent number \(parent)" }
    static func born(_ child: Int) -> Int { 1950 + child % 70 }
}
