import MakoRecords
import MakoStorage

/// A struct whose held structs are being saved.
struct ValueHolder {
    /// The most levels in which structs hold each other, when they are saved and when they are read: longer chains
    /// and cycles of rows are no values.
    static let depthLimit = 100

    let model: EntityModel
    /// Nil for a row without a key.
    let key: RowKey?
    /// The property whose content is being saved.
    var property = ""
}

/// The structs of a property, of any type.
protocol HeldContent: AnyObject, Sendable {
    /// Saves the structs and keeps their keys.
    func save(for object: any ObjectEntity, in transaction: Transaction) throws(MakoError)
}

/// The structs that are being saved before the rows that hold them.
struct HeldValues {
    /// Structs of types that refer to each other in a cycle: each waits for the one after it to be saved.
    var holders: [ValueHolder] = []
    /// Whether an object is being encoded, not a struct.
    var isInObject = false
    /// What that object was set to hold and is not saved.
    var unsaved: [any HeldContent] = []

    mutating func beginObject() {
        isInObject = true
        unsaved = []
    }
}

extension Transaction {
    /// Saves the structs that an object was set to hold, and clears the list. Its row contains their keys.
    func saveHeldValues<T: ObjectEntity>(of object: T, _ binding: Binding) throws(MakoError) {
        let unsaved = held.unsaved
        held.unsaved = []
        // An object ends the levels of structs: it reads what it holds at the first access, not with its row.
        let outer = held.holders
        held.holders = []
        defer { held.holders = outer }
        // A struct may refer back to the object, whose key it then needs.
        try requireKey(of: object, current(binding))
        try willWriteFurtherRows()
        for content in unsaved {
            try StackGuard.run(isDeep: false) { () throws(MakoError) in
                try content.save(for: object, in: self)
            } orElse: { () throws(MakoError) in
                throw .unsupported("an object that holds structs that refer to objects, in so many levels")
            }
        }
    }

    /// Saves the structs that a struct holds before the struct itself, because its row contains their keys.
    func saveHeldValues<T: Entity>(of value: inout T, _ model: EntityModel) throws(MakoError) {
        let isCircular = model.refersBack
        if isCircular { held.holders.append(try holder(value, model)) }
        defer { if isCircular { held.holders.removeLast() } }
        for property in model.columns {
            guard let coding = property.coding, coding.holdsValue else { continue }
            try willWriteFurtherRows()
            if !isCircular {
                try coding.saveHeldValue(property.keyPath, of: &value, in: self)
                continue
            }
            held.holders[held.holders.count - 1].property = property.name
            try StackGuard.run(isDeep: false) { () throws(MakoError) in
                try coding.saveHeldValue(property.keyPath, of: &value, in: self)
            } orElse: { () throws(MakoError) in
                throw .unsupported("a struct that holds others in so many levels")
            }
        }
    }

    /// - Throws: if the struct holds itself, directly or through others: the value of its row would be infinite.
    private func holder(_ value: some Entity, _ model: EntityModel) throws(MakoError) -> ValueHolder {
        let isKeyed = !model.hasColumnKey || !value.keyValues().contains { $0.isNull || $0 == .text("") }
        let key = isKeyed ? value.storedValueKey : nil
        for holder in held.holders where key != nil && holder.key == key && holder.model.hasTable(of: model) {
            throw .unstorableValue(
                entity: model.name, key: nil, property: holder.property,
                reason: "it leads back to its own row, which no struct can hold; make \(model.name) a class")
        }
        guard held.holders.count < ValueHolder.depthLimit else {
            throw .unsupported("a struct that holds others in \(ValueHolder.depthLimit) levels")
        }
        return ValueHolder(model: model, key: key)
    }
}
