import Mako

// The classes of Realm's tests as a user of Mako writes them.

@Entity("StringObject") final class MakoStringObject: Hashable {
    var stringCol = ""

    static func == (left: MakoStringObject, right: MakoStringObject) -> Bool { left === right }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

@Entity("IntObject") final class MakoIntObject {
    var intCol = 0
}

@Entity("IndexedObject") final class MakoIndexedObject {
    #Index<MakoIndexedObject>([\.stringCol], [\.intCol])
    var stringCol = ""
    var intCol = 0
}

@Entity("ListObject") final class MakoListObject {
    var name = ""
    var array: [MakoStringObject] = []
}

@Entity("SetObject") final class MakoSetObject {
    var name = ""
    var set: Set<MakoStringObject> = []
}
