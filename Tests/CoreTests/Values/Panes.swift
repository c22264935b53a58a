import Foundation
import MakoCore

/// A value of one's own, whose last part may be missing.
struct Price: CompositeValue, Equatable {
    var amount: Decimal
    var currency: String
    var paid: Date?

    init(_ amount: Decimal, _ currency: String, paid: Date? = nil) {
        self.amount = amount
        self.currency = currency
        self.paid = paid
    }

    static let valueParts = [
        ValuePart("amount", \Price.amount), ValuePart("currency", \Price.currency), ValuePart("paid", \Price.paid),
    ]
    init(parts: ValueParts<Price>) throws(MakoError) {
        self.init(try parts[\.amount], try parts[\.currency], paid: try parts[\.paid])
    }
}

/// Some of everything that fills several columns.
final class Pane: ObjectEntity, @unchecked Sendable {
    var _$state = ObjectState()

    static let entityModel = EntityModel(
        Pane.self, table: "Pane", id: \Pane.id,
        properties: [
            .column("name", \Pane.name, EntityCoding.codec(String.self), default: ""),
            .column("frame", \Pane.frame, EntityCoding.codec(CGRect.self), default: .zero),
            .column("place", \Pane.place, EntityCoding.codec(Coordinate?.self), options: [.keepWhenNil]),
            .column("days", \Pane.days, EntityCoding.codec(Range<Int>?.self), column: "span", options: [.unique]),
            .column("price", \Pane.price, EntityCoding.codec(Price?.self)),
            .column("size", \Pane.size, EntityCoding.codec(CGSize.self), default: .zero, options: [.writeOnce]),
            .column("other", \Pane.other, EntityCoding.codec(CGRect.self), default: .zero),
            .column("ship", \Pane.ship, EntityCoding.codec(Ship?.self)),
        ], indexes: [EntityModel.index(Pane.self, [\.frame.origin.x, \.name], isUnique: false)])

    var name = "" { didSet { note(0) } }
    var frame = CGRect.zero { didSet { note(1) } }
    var place: Coordinate? { didSet { note(2) } }
    var days: Range<Int>? { didSet { note(3) } }
    var price: Price? { didSet { note(4) } }
    var size = CGSize.zero { didSet { note(5) } }
    var other = CGRect.zero { didSet { note(6) } }
    private var _ship = EntityCoding.codec(Ship?.self).emptySlot
    var ship: Ship? {
        get {
            if !_ship.isSettled { _ship.settle(_ship.loaded(by: self, property: 7), replacing: _ship) }
            return _ship.value
        }
        set {
            _ship = EntityCoding.codec(Ship?.self).slot(newValue)
            note(7)
        }
    }
    var id: Int? { EntityCoding.rowNumber(of: self, as: Int?.self) }
    private func note(_ property: Int) { _ = EntityCoding.noteWrite(&_$state, of: self, property: property) }

    init() {}
    init(_ name: String, _ frame: CGRect = .zero, place: Coordinate? = nil, days: Range<Int>? = nil) {
        (self.name, self.frame, self.place, self.days) = (name, frame, place, days)
    }
    init(row: EntityRow) throws(MakoError) {
        name = try EntityCoding.codec(String.self).read(row, 0)
        frame = try EntityCoding.codec(CGRect.self).read(row, 1)
        place = try EntityCoding.codec(Coordinate?.self).read(row, 2)
        days = try EntityCoding.codec(Range<Int>?.self).read(row, 3)
        price = try EntityCoding.codec(Price?.self).read(row, 4)
        size = try EntityCoding.codec(CGSize.self).read(row, 5)
        other = try EntityCoding.codec(CGRect.self).read(row, 6)
        _ship = try EntityCoding.codec(Ship?.self).readSlot(row, 7)
        _$state = row.state
    }
    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        if properties & 1 != 0 { try EntityCoding.codec(String.self).write(name, &writer, 0) }
        if properties & 2 != 0 { try EntityCoding.codec(CGRect.self).write(frame, &writer, 1) }
        if properties & 4 != 0 { try EntityCoding.codec(Coordinate?.self).write(place, &writer, 2) }
        if properties & 8 != 0 { try EntityCoding.codec(Range<Int>?.self).write(days, &writer, 3) }
        if properties & 16 != 0 { try EntityCoding.codec(Price?.self).write(price, &writer, 4) }
        if properties & 32 != 0 { try EntityCoding.codec(CGSize.self).write(size, &writer, 5) }
        if properties & 64 != 0 { try EntityCoding.codec(CGRect.self).write(other, &writer, 6) }
        if properties & 128 != 0 { try EntityCoding.codec(Ship?.self).writeSlot(_ship, &writer, 7) }
    }
    func adoptValues(of object: AnyObject) {
        guard let pane = object as? Pane else { return }
        (name, frame, place, days) = (pane.name, pane.frame, pane.place, pane.days)
        (price, size, other, _ship) = (pane.price, pane.size, pane.other, pane._ship)
    }
    func visitReferences(_ visit: (Int, any ObjectEntity) -> Void) {
        if let object = _ship.loadedObject { visit(7, object) }
    }
    func resolveReference(_ property: Int, to object: any ObjectEntity, key: RowKey) {
        if property == 7 { _ship.resolve(object, key: key) }
    }
}
