import MakoCore

/// The number of properties of an entity.
protocol Width {
    static var count: Int { get }
    static var model: EntityModel { get }
}

enum Width64: Width {
    static let count = 64
    static let model = WideObject<Width64>.makeModel()
}
enum Width65: Width {
    static let count = 65
    static let model = WideObject<Width65>.makeModel()
}
enum Width128: Width {
    static let count = 128
    static let model = WideObject<Width128>.makeModel()
}
enum Width1024: Width {
    static let count = 1024
    static let model = WideObject<Width1024>.makeModel()
}
enum Width1025: Width {
    static let count = 1025
    static let model = WideObject<Width1025>.makeModel()
}

/// A value of a ``WideObject``.
enum WideValue: Equatable {
    case number(Int)
    case text(String)
    case maybe(Int?)
}

/// An observable entity with as many properties as wanted, `p0` and so on: a number, a text and an optional number by
/// turns.
/// Of the latter, `p5`, `p65` and so on keep their value when they are nil. All widths are one table.
final class WideObject<W: Width>: ObservableEntity, @unchecked Sendable {
    var _$state = ObjectState()
    let _$observation = EntityCoding.Registrar()
    private var values: [WideValue]

    static var entityModel: EntityModel { W.model }

    static func keepsWhenNil(_ property: Int) -> Bool { property % 60 == 5 }

    static func makeModel() -> EntityModel {
        let properties: [PropertyModel] = (0..<W.count).map { property in
            let name = "p\(property)"
            switch property % 3 {
            case 0:
                return .column(
                    name, \WideObject<W>.[number: property], EntityCoding.codec(Int.self), default: property)
            case 1:
                return .column(
                    name, \WideObject<W>.[text: property], EntityCoding.codec(String.self), default: "t\(property)")
            default:
                return .column(
                    name, \WideObject<W>.[maybe: property], EntityCoding.codec(Int?.self),
                    options: keepsWhenNil(property) ? [.keepWhenNil] : [])
            }
        }
        return EntityModel(
            WideObject<W>.self, table: "Wide", properties: properties, isObservable: true, declaresTable: true)
    }

    /// What a property has at first.
    static func start(_ property: Int) -> WideValue {
        switch property % 3 {
        case 0: .number(property)
        case 1: .text("t\(property)")
        default: .maybe(nil)
        }
    }

    /// The value of a property; of another kind than the property's, it is ignored.
    subscript(property: Int) -> WideValue {
        get {
            access(property)
            return ObjectLock(self).locked { values[property] }
        }
        set {
            willSet(property)
            let lock = ObjectLock(self)
            lock.lock()
            let old = values[property]
            let mark = EntityCoding.noteWrite(&_$state, of: self, property: property)
            values[property] = newValue
            lock.unlock()
            if mark.needsUndo { EntityCoding.recordUndo(mark, of: self) { $0.values[property] = old } }
            didSet(property)
        }
    }

    subscript(number property: Int) -> Int {
        get { if case .number(let number) = self[property] { number } else { 0 } }
        set { self[property] = .number(newValue) }
    }
    subscript(text property: Int) -> String {
        get { if case .text(let text) = self[property] { text } else { "" } }
        set { self[property] = .text(newValue) }
    }
    subscript(maybe property: Int) -> Int? {
        get { if case .maybe(let number) = self[property] { number } else { nil } }
        set { self[property] = .maybe(newValue) }
    }

    private func access(_ property: Int) {
        switch property % 3 {
        case 0: _$observation.access(self, keyPath: \.[number: property])
        case 1: _$observation.access(self, keyPath: \.[text: property])
        default: _$observation.access(self, keyPath: \.[maybe: property])
        }
    }
    private func willSet(_ property: Int) {
        switch property % 3 {
        case 0: _$observation.willSet(self, keyPath: \.[number: property])
        case 1: _$observation.willSet(self, keyPath: \.[text: property])
        default: _$observation.willSet(self, keyPath: \.[maybe: property])
        }
    }
    private func didSet(_ property: Int) {
        switch property % 3 {
        case 0: _$observation.didSet(self, keyPath: \.[number: property])
        case 1: _$observation.didSet(self, keyPath: \.[text: property])
        default: _$observation.didSet(self, keyPath: \.[maybe: property])
        }
    }

    var id: Int? { EntityCoding.rowNumber(of: self, as: Int?.self) }
    var all: [WideValue] { (0..<W.count).map { self[$0] } }

    init() { values = (0..<W.count).map { Self.start($0) } }

    init(row: EntityRow) throws(MakoError) {
        values = []
        values.reserveCapacity(W.count)
        for property in 0..<W.count {
            switch property % 3 {
            case 0: values.append(.number(try EntityCoding.codec(Int.self).read(row, property)))
            case 1: values.append(.text(try EntityCoding.codec(String.self).read(row, property)))
            default: values.append(.maybe(try EntityCoding.codec(Int?.self).read(row, property)))
            }
        }
        _$state = row.state
    }

    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        try _$encode(into: &writer, properties: EntityCoding.PropertySet(firstWord: properties))
    }

    func _$encode(into writer: inout RowWriter, properties: EntityCoding.PropertySet) throws(MakoError) {
        for property in 0..<W.count where properties.contains(property) {
            switch values[property] {
            case .number(let number): try EntityCoding.codec(Int.self).write(number, &writer, property)
            case .text(let text): try EntityCoding.codec(String.self).write(text, &writer, property)
            case .maybe(let number): try EntityCoding.codec(Int?.self).write(number, &writer, property)
            }
        }
    }

    func adoptValues(of object: AnyObject) { if let other = object as? Self { values = other.values } }

    func _$notifyObservers(_ properties: EntityCoding.PropertySet) {
        for property in 0..<W.count where properties.contains(property) {
            willSet(property)
            didSet(property)
        }
    }
}
