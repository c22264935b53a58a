import Foundation
import Mako

@Entity final class Note {
    @Attribute(.primaryKey) var id = UUID()
    @Attribute(.unique) var title = ""
    @Attribute(.fullText) var text = ""
    var reads = 0
}
