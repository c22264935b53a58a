import Mako
import MakoTestSupport

/// An object of the random graphs, which its class and its mark identify.
protocol GraphObject: ObjectEntity {
    var graphMark: Int { get }
    var n: Int { get set }
    static var edges: [GraphEdge] { get }
}

/// A property that holds other objects: those that it holds with their names, in an order that does not change.
struct GraphEdge: Sendable {
    typealias Members = [(name: String, object: any GraphObject)]

    let name: String
    /// Which classes may stand there; none: those that only this property leads to.
    let classes: [GraphClass]
    let holdsMany: Bool
    let read: @Sendable (any GraphObject) -> Members
    let write: @Sendable (any GraphObject, Members) -> Void

    static func one<Owner: GraphObject, Target: GraphObject>(
        _ name: String, _ path: ReferenceWritableKeyPath<Owner, Target?> & Sendable, _ classes: [GraphClass]
    ) -> GraphEdge {
        GraphEdge(name: name, classes: classes, holdsMany: false) { owner in
            (owner as? Owner)?[keyPath: path].map { [("", $0)] } ?? []
        } write: { owner, members in
            (owner as? Owner)?[keyPath: path] = members.first?.object as? Target
        }
    }
}

enum GraphClass: String, CaseIterable {
    case knot, bead, pearl, clasp

    func object(_ mark: Int) -> any GraphObject {
        switch self {
        case .knot: return Knot(mark: mark)
        case .bead: return Bead(mark: mark)
        case .pearl:
            let pearl = Pearl()
            pearl.mark = mark
            return pearl
        case .clasp: return Clasp(code: "\(mark)")
        }
    }
}

extension Knot: GraphObject {
    var graphMark: Int { mark }
    static var edges: [GraphEdge] {
        [
            .one("next", \Knot.next, [.knot]), .one("bead", \Knot.bead, [.bead]), .one("clasp", \Knot.clasp, [.clasp]),
            GraphEdge(name: "list", classes: [.knot], holdsMany: true) { owner in
                (owner as? Knot)?.list.enumerated().map { ("\($0)", $1) } ?? []
            } write: { owner, members in
                (owner as? Knot)?.list = members.compactMap { $0.object as? Knot }
            },
        ]
    }
}

extension Bead: GraphObject { var graphMark: Int { mark } }

extension GraphEdge {
    static var ofBeads: [GraphEdge] {
        [
            .one("knot", \Bead.knot, [.knot]), .one("shining", \Bead.shining, [.bead, .pearl]),
            GraphEdge(name: "named", classes: [.bead], holdsMany: true) { owner in
                ((owner as? Bead)?.named ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
            } write: { owner, members in
                let named = members.compactMap { name, object in (object as? Bead).map { (name, $0) } }
                (owner as? Bead)?.named = Dictionary(named) { first, _ in first }
            },
        ]
    }
}

extension Clasp: GraphObject {
    var graphMark: Int { Int(code) ?? -1 }
    static var edges: [GraphEdge] {
        [
            .one("knot", \Clasp.knot, [.knot]),
            GraphEdge(name: "anything", classes: GraphClass.allCases, holdsMany: false) { owner in
                ((owner as? Clasp)?.anything as? any GraphObject).map { [("", $0)] } ?? []
            } write: { owner, members in
                (owner as? Clasp)?.anything = members.first?.object
            },
        ]
    }
}

/// The plain model of a graph: the values of each object, by its mark, in memory and in the file.
struct GraphModel {
    struct Row: Equatable {
        var kind: GraphClass
        var n = 0
        /// The mark of the tag that a knot owns.
        var tag: Int?
        var edges: [String: [String: Int]] = [:]
    }

    var memory: [Int: Row] = [:]
    var file: [Int: Row] = [:]
    /// The properties whose objects are in memory.
    var loaded: [Int: Set<String>] = [:]

    /// The objects that a save of an object stores: everything in memory that it leads to.
    func reached(from mark: Int) -> Set<Int> {
        var (reached, waiting): (Set<Int>, [Int]) = ([mark], [mark])
        while let next = waiting.popLast() {
            for (name, members) in memory[next]?.edges ?? [:] where loaded[next]?.contains(name) == true {
                for other in members.values where reached.insert(other).inserted { waiting.append(other) }
            }
        }
        return reached
    }

    mutating func save(_ mark: Int) { for each in reached(from: mark) { file[each] = memory[each] } }

    /// All objects in memory were released.
    mutating func forget() { (memory, loaded) = (file, [:]) }
}

/// One random graph: built, changed anywhere, saved from any object in any form, fetched again; after each save the file equals the model.
final class GraphSession {
    private var random: SplitMix
    private let log: StepLog
    private let db: Database
    private var model = GraphModel()
    private var objects: [Int: any GraphObject] = [:]
    private var last = 0

    init(seed: UInt64, log: StepLog) throws {
        random = SplitMix(seed: seed &* 77 &+ 5)
        self.log = log
        db = try makeDatabase(graphClasses)
    }

    deinit { letGo() }

    func run() throws {
        let size =
            random.chance(5)
            ? 200 + random.below(1800) : random.chance(25) ? 20 + random.below(180) : 2 + random.below(18)
        try build(size)
        for _ in 0..<2 + random.below(4) {
            for _ in 0..<random.below(6) { try change() }
            try save()
            if random.chance(40) { try fetch() }
        }
        guard try db.verify().isClean else { throw Disagreement("the file is damaged") }
    }

    // MARK: Objects

    private func make(_ kind: GraphClass) -> Int {
        last += 1
        objects[last] = kind.object(last)
        model.memory[last] = GraphModel.Row(kind: kind)
        model.loaded[last] = Set(type(of: objects[last] ?? Knot()).edges.map(\.name))
        return last
    }

    private func build(_ size: Int) throws {
        let shape = random.below(4)
        log("\(size) objects, shape \(shape)")
        for _ in 0..<size { _ = make(shape == 0 ? .knot : random.pick(GraphClass.allCases)) }
        for mark in 1...size {
            switch shape {
            // A chain of one class, or a circle.
            case 0: if mark < size || random.chance(50) { try set(mark, "next", [mark % size + 1]) }
            // Neighbours, by whatever property takes them.
            case 1: try link(mark, near: mark % size + 1)
            default: for _ in 0..<1 + random.below(2) { try link(mark, near: 1 + random.below(size)) }
            }
        }
    }

    /// Has some property of an object lead to another one.
    private func link(_ mark: Int, near other: Int) throws {
        guard let object = objects[mark], let kind = model.memory[other]?.kind else { return }
        let edges = type(of: object).edges.filter { $0.classes.contains(kind) }
        if edges.isEmpty { return }
        let edge = random.pick(edges)
        var marks = edge.holdsMany ? try read(mark, edge) : []
        marks.append(other)
        try set(mark, edge.name, marks)
    }

    /// The marks of the objects that a property holds, which are loaded by this.
    private func read(_ mark: Int, _ edge: GraphEdge) throws -> [Int] {
        guard let object = objects[mark] else { return [] }
        var found: [String: Int] = [:]
        var marks: [Int] = []
        for (name, other) in edge.read(object) {
            let known = other.graphMark
            if let one = objects[known], one !== other { throw Disagreement("\(known) has two objects in one fetch") }
            objects[known] = other
            found[name] = known
            marks.append(known)
        }
        let expected = model.memory[mark]?.edges[edge.name] ?? [:]
        if found != expected {
            throw Disagreement("\(mark).\(edge.name) is \(found), not \(expected)")
        }
        model.loaded[mark, default: []].insert(edge.name)
        return marks
    }

    private func set(_ mark: Int, _ name: String, _ marks: [Int]) throws {
        guard let object = objects[mark], let edge = type(of: object).edges.first(where: { $0.name == name }) else {
            return
        }
        var members: GraphEdge.Members = []
        var named: [String: Int] = [:]
        for (place, other) in marks.enumerated() {
            guard let target = objects[other] else { continue }
            let label = edge.holdsMany ? "\(place)" : ""
            members.append((label, target))
            named[label] = other
        }
        log("\(mark).\(name) = \(marks)")
        edge.write(object, members)
        model.memory[mark]?.edges[name] = named
        model.loaded[mark, default: []].insert(name)
    }

    // MARK: Steps

    private func change() throws {
        guard var mark = objects.keys.sorted().randomElement(using: &random) else { return }
        // Somewhere behind it.
        for _ in 0..<random.below(8) {
            guard let object = objects[mark] else { break }
            let next = try read(mark, random.pick(type(of: object).edges))
            if let one = next.randomElement(using: &random) { mark = one }
        }
        guard let object = objects[mark] else { return }
        switch random.below(5) {
        case 0, 1:
            let n = random.below(1000)
            log("\(mark).n = \(n)")
            object.n = n
            model.memory[mark]?.n = n
        case 2:
            guard let knot = object as? Knot else { return }
            let tag = random.chance(70) ? random.below(1000) : nil
            log("\(mark).tag = \(tag.map { "\($0)" } ?? "nil")")
            knot.tag = tag.map { KnotTag(n: $0) }
            model.memory[mark]?.tag = tag
        case 3:
            let edge = random.pick(type(of: object).edges)
            let marks = try read(mark, edge)
            try set(mark, edge.name, Array(marks.dropLast()))
        default:
            try link(
                mark,
                near: random.chance(50) ? make(random.pick(GraphClass.allCases)) : random.pick(objects.keys.sorted()))
        }
    }

    private func save() throws {
        guard let mark = objects.keys.sorted().randomElement(using: &random), let object = objects[mark] else { return }
        let form = random.pick(SaveForm.allCases)
        if !form.isAsync && random.chance(15) {
            log("save \(mark) by \(form), rolled back")
            do {
                try db.transaction { tx in
                    try form.save(object, in: db)
                    try tx.rollback()
                }
            } catch MakoError.rolledBack {}
            try compare()
        }
        log("save \(mark) by \(form)")
        try form.save(object, in: db)
        model.save(mark)
        try compare()
    }

    /// Lets all objects go and fetches some.
    private func fetch() throws {
        letGo()
        model.forget()
        func add<T: GraphObject>(_ type: T.Type) throws {
            for object in try db.query(type).fetch() { objects[object.graphMark] = object }
        }
        log("fetch")
        switch random.below(3) {
        case 0: try add(Knot.self)
        case 1: try add(Bead.self)
        default: try add(Clasp.self)
        }
    }

    /// Circles do not end by themselves.
    private func letGo() {
        for object in objects.values { for edge in type(of: object).edges { edge.write(object, []) } }
        objects = [:]
    }

    // MARK: The file

    private func compare() throws {
        var found: [Int: GraphModel.Row] = [:]
        var tags = 0
        func add<T: GraphObject>(_ type: T.Type, _ kind: GraphClass) throws {
            for object in try db.query(type).fetch() {
                var row = GraphModel.Row(kind: kind, n: object.n)
                if let tag = (object as? Knot)?.tag { (row.tag, tags) = (tag.n, tags + 1) }
                for edge in type.edges {
                    let members = edge.read(object).map { ($0.name, $0.object.graphMark) }
                    if !members.isEmpty { row.edges[edge.name] = Dictionary(members) { first, _ in first } }
                }
                if found.updateValue(row, forKey: object.graphMark) != nil {
                    throw Disagreement("\(object.graphMark) has two rows")
                }
            }
        }
        try add(Knot.self, .knot)
        try add(Bead.self, .bead)
        try add(Pearl.self, .pearl)
        try add(Clasp.self, .clasp)
        let expected = model.file.mapValues { row in
            var row = row
            row.edges = row.edges.filter { !$0.value.isEmpty }
            return row
        }
        if found != expected {
            let wrong = Set(found.keys).union(expected.keys).sorted().first { found[$0] != expected[$0] } ?? 0
            throw Disagreement(
                "\(wrong) is \(found[wrong].map { "\($0)" } ?? "not there"), and not "
                    + "\(expected[wrong].map { "\($0)" } ?? "absent")")
        }
        let stored = try db.query(KnotTag.self).count()
        if stored != tags { throw Disagreement("there are \(stored) tags of \(tags) knots") }
    }
}
