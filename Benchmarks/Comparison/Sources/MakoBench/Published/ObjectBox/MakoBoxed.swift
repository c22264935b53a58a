import Mako

// ObjectBox's entities as a user of Mako writes them.

/// A class that Mako stores in place of one of ObjectBox's.
protocol MakoBoxed: ObjectEntity, Boxed {
    /// Nil if it has no text.
    static func hasString(_ string: String) -> Condition<Self>?
    static func hasInt(_ int: Int32) -> Condition<Self>
}

extension MakoBoxed {
    static func hasString(_ string: String) -> Condition<Self>? { nil }
}

@Entity("TestEntity") final class MakoTestEntity {
    var string: String = ""
    var boolean: Bool = false
    var byte: Int8 = 0
    var short: Int16 = 0
    var int: Int32 = 0
    var long: Int64 = 0
    var float: Float = 0
    var double: Double = 0
}

extension MakoTestEntity: MakoBoxed {
    convenience init(_ data: BoxData) {
        self.init()
        take(data)
    }

    func take(_ data: BoxData) {
        string = data.string
        boolean = data.boolean
        byte = data.byte
        short = data.short
        int = data.int
        long = data.long
        float = data.float
        double = data.double
    }

    var contentChecksum: UInt64 { UInt64(string.utf8.count) &* 31 }

    static func hasString(_ string: String) -> Condition<MakoTestEntity>? { \.string == string }
    static func hasInt(_ int: Int32) -> Condition<MakoTestEntity> { \.int == int }
}

@Entity("SimpleEntity") final class MakoSimpleEntity {
    var string: String = ""
    var bytes: [UInt8] = []
    var boolean: Bool = false
    var byte: Int8 = 0
    var short: Int16 = 0
    var int: Int32 = 0
    var long: Int64 = 0
    var float: Float = 0
    var double: Double = 0
}

extension MakoSimpleEntity: MakoBoxed {
    convenience init(_ data: BoxData) {
        self.init()
        take(data)
    }

    func take(_ data: BoxData) {
        string = data.string
        bytes = data.bytes
        boolean = data.boolean
        byte = data.byte
        short = data.short
        int = data.int
        long = data.long
        float = data.float
        double = data.double
    }

    var contentChecksum: UInt64 { UInt64(string.utf8.count) &* 31 &+ UInt64(bytes.count) &+ UInt64(bytes.last ?? 0) }

    static func hasString(_ string: String) -> Condition<MakoSimpleEntity>? { \.string == string }
    static func hasInt(_ int: Int32) -> Condition<MakoSimpleEntity> { \.int == int }
}

@Entity("ScalarEntity") final class MakoScalarEntity {
    var boolean: Bool = false
    var byte: Int8 = 0
    var short: Int16 = 0
    var int: Int32 = 0
    var long: Int64 = 0
    var float: Float = 0
    var double: Double = 0
}

extension MakoScalarEntity: MakoBoxed {
    convenience init(_ data: BoxData) {
        self.init()
        take(data)
    }

    func take(_ data: BoxData) {
        boolean = data.boolean
        byte = data.byte
        short = data.short
        int = data.int
        long = data.long
        float = data.float
        double = data.double
    }

    static func hasInt(_ int: Int32) -> Condition<MakoScalarEntity> { \.int == int }
}

@Entity("IndexedEntity") final class MakoIndexedEntity {
    #Index<MakoIndexedEntity>([\.string], [\.int])
    var string: String = ""
    var bytes: [UInt8] = []
    var boolean: Bool = false
    var byte: Int8 = 0
    var short: Int16 = 0
    var int: Int32 = 0
    var long: Int64 = 0
    var float: Float = 0
    var double: Double = 0
}

extension MakoIndexedEntity: MakoBoxed {
    convenience init(_ data: BoxData) {
        self.init()
        take(data)
    }

    func take(_ data: BoxData) {
        string = data.string
        bytes = data.bytes
        boolean = data.boolean
        byte = data.byte
        short = data.short
        int = data.int
        long = data.long
        float = data.float
        double = data.double
    }

    var contentChecksum: UInt64 { UInt64(string.utf8.count) &* 31 &+ UInt64(bytes.count) &+ UInt64(bytes.last ?? 0) }

    static func hasString(_ string: String) -> Condition<MakoIndexedEntity>? { \.string == string }
    static func hasInt(_ int: Int32) -> Condition<MakoIndexedEntity> { \.int == int }
}
