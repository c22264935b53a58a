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

extension Transaction {
    /// Saves the structs that a struct holds before the struct itself, because its row contains their keys.
    func saveHeldValues<T: Entity>(of value: inout T, _ model: EntityModel) throws(MakoError) {
        let isCircular = model.refersBack
        if isCircular { holders.append(try holder(value, model)) }
        defer { if isCircular { holders.removeLast() } }
        for property in model.columns {
            guard let coding = property.coding, coding.holdsValue else { continue }
            try willWriteFurtherRows()
            if !isCircular {
                try coding.saveHeldValue(property.keyPath, of: &value, in: self)
                continue
            }
            holders[holders.count - 1].property = property.name
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
        for holder in holders where key != nil && holder.key == key && holder.model.hasTable(of: model) {
            throw .unstorableValue(
                entity: model.name, key: nil, property: holder.property,
                reason: "it leads back to its own row, which no struct can hold; make \(model.name) a class")
        }
        guard holders.count < ValueHolder.depthLimit else {
            throw .unsupported("a struct that holds others in \(ValueHolder.depthLimit) levels")
        }
        return ValueHolder(model: model, key: key)
    }
}
