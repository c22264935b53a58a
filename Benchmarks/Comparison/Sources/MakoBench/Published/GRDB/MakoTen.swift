import Foundation
import Mako

/// A row as a struct.
@Entity("item") struct MakoTen: TenColumns {
    var i0: Int
    var i1: Int
    var i2: Int
    var i3: Int
    var i4: Int
    var i5: Int
    var i6: Int
    var i7: Int
    var i8: Int
    var i9: Int

    init(_ number: Int) {
        i0 = number
        i1 = number
        i2 = number
        i3 = number
        i4 = number
        i5 = number
        i6 = number
        i7 = number
        i8 = number
        i9 = number
    }
}

/// A row as an object.
@Entity("object") final class MakoTenObject: TenColumns {
    var i0: Int = 0
    var i1: Int = 0
    var i2: Int = 0
    var i3: Int = 0
    var i4: Int = 0
    var i5: Int = 0
    var i6: Int = 0
    var i7: Int = 0
    var i8: Int = 0
    var i9: Int = 0
}

extension MakoTenObject {
    convenience init(_ number: Int) {
        self.init(
            i0: number, i1: number, i2: number, i3: number, i4: number,
            i5: number, i6: number, i7: number, i8: number, i9: number)
    }
}

/// One text.
@Entity("t") struct MakoTenText {
    var a: String
}

/// One date.
@Entity("moment") struct MakoTenMoment {
    var date: Date
}
